/** One proxy: connections through it, and its recent failures. */
import { isIPv4, type Socket } from 'node:net';
import { shownProxy } from '@troupe/contracts';
import type { OpenTunnel, Resolver } from '@troupe/egress';
import { ProxyFault } from './proxy-fault.js';
import { openTunnel, portOfProxy } from './tunnel.js';

export interface UpstreamOptions {
  url: string;
  /** Checks the address of a team's proxy; null: the proxy is the operator's. */
  resolver: Pick<Resolver, 'resolve'> | null;
  onFault(upstream: Upstream, fault: ProxyFault): void;
  /** ms, only ever compared. @default performance.now */
  now?(): number;
}

/** After its first failure a proxy rests this long, twice as long after each further one, … */
const FIRST_REST_MS = 5_000;
/** … and never longer than this. */
const MAX_REST_MS = 5 * 60_000;
/** Hosts in a row that a proxy could not reach. After them the proxy itself counts as broken. */
const HOSTS_BEFORE_DOWN = 3;
/** Addresses of a host that are tried. */
const MAX_ADDRESSES = 2;

export class Upstream {
  /** Without credentials, for logs. */
  readonly shown: string;
  /** Failures so far, of any extent. A request during which the number grows has met one. */
  faults = 0;
  /** When it failed last; -Infinity = never. */
  failedAt = -Infinity;
  private readonly url: URL;
  private failuresInRow = 0;
  private restsUntil = -Infinity;
  private readonly missed = new Set<string>();

  constructor(private readonly options: UpstreamOptions) {
    this.url = new URL(options.url);
    this.shown = shownProxy(options.url);
  }

  get isResting(): boolean {
    return this.now() < this.restsUntil;
  }

  /** Connects to one of the addresses, IPv4 first: few proxies have anything else. */
  readonly open: OpenTunnel = async ({ addresses, port }, signal) => {
    const ordered = [...addresses].sort((a, b) => Number(isIPv4(b)) - Number(isIPv4(a))).slice(0, MAX_ADDRESSES);
    let failure: unknown = new ProxyFault('was given no address', 'target');
    for (const address of ordered) {
      try {
        const socket = await this.connect(address, port, signal);
        this.noteSuccess();
        return socket;
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        failure = error;
        if (error instanceof ProxyFault && error.extent === 'down') break;
      }
    }
    if (failure instanceof ProxyFault) this.noteFault(failure, addresses[0] ?? '');
    throw failure;
  };

  private async connect(address: string, port: number, signal: AbortSignal | undefined): Promise<Socket> {
    const proxyAddresses = await this.ownAddresses(signal);
    return openTunnel({ proxy: this.url, proxyAddresses, address, port }, signal);
  }

  private async ownAddresses(signal: AbortSignal | undefined): Promise<string[] | null> {
    const { resolver } = this.options;
    if (resolver === null) return null;
    return resolver.resolve(this.url.hostname, portOfProxy(this.url), signal).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw new ProxyFault('has no address that may be used', 'down');
    });
  }

  private noteSuccess(): void {
    this.failuresInRow = 0;
    this.restsUntil = -Infinity;
    this.missed.clear();
  }

  private noteFault(fault: ProxyFault, address: string): void {
    this.faults++;
    if (fault.extent === 'target' && this.missed.add(address).size < HOSTS_BEFORE_DOWN) return;
    this.missed.clear();
    // Connections that were under way together fail together, which counts as one failure.
    if (this.isResting) return;
    this.failuresInRow++;
    this.failedAt = this.now();
    this.restsUntil = this.failedAt + Math.min(MAX_REST_MS, FIRST_REST_MS * 2 ** (this.failuresInRow - 1));
    this.options.onFault(this, fault);
  }

  private now(): number {
    return this.options.now?.() ?? performance.now();
  }
}
