/**
 * Names to addresses that may be connected to.
 *
 * Every address of an answer is checked; the caller connects to one of the addresses returned here and to nothing
 * else, so a name that answers differently a moment later (DNS rebinding) gains nothing. The cache holds unchecked
 * answers for a few seconds; the check runs on every call because it depends on the port.
 */
import { TroupeError } from '@troupe/contracts';
import dns from 'node:dns';
import { LRUCache } from 'lru-cache';
import {
  blockedTarget,
  forbiddenTarget,
  isAddressAllowed,
  literalAddresses,
  normaliseHost,
  type AllowList,
} from './allow-list.js';

export interface ResolverOptions {
  /** `ip` or `ip:port`; empty = the system's resolver, hosts file included. */
  servers: string[];
  allow: AllowList;
  /** Names kept. @default 10_000 */
  cacheSize?: number;
  /** Longest time an answer is kept; a shorter TTL of the answer wins. @default 30_000 */
  maxTtlMs?: number;
}

interface Answer {
  addresses: string[];
  ttlMs: number;
}

interface Source {
  lookup(host: string): Promise<Answer>;
  cancel(): void;
}

const DNS_TIMEOUT_MS = 3_000;
const DNS_TRIES = 2;
/** A floor, so that TTL 0 does not cost one query per request of a page. */
const MIN_TTL_MS = 1_000;
const UNKNOWN_HOST = new Set(['ENOTFOUND', 'ENODATA', 'EAI_NODATA', 'EAI_NONAME', 'EBADNAME', 'ENONAME']);

export class Resolver {
  private readonly allow: AllowList;
  private readonly answers: LRUCache<string, string[]>;
  private readonly pending = new Map<string, Promise<string[]>>();
  private readonly source: Source;
  private readonly maxTtlMs: number;

  constructor(options: ResolverOptions) {
    this.allow = options.allow;
    this.answers = new LRUCache({ max: options.cacheSize ?? 10_000 });
    this.maxTtlMs = options.maxTtlMs ?? 30_000;
    this.source = options.servers.length > 0 ? sourceAt(options.servers) : SYSTEM;
  }

  /**
   * Checked addresses of a host, never empty, in the resolver's order.
   * @throws TroupeError SCRAPE_DNS_RESOLUTION_ERROR (retryable unless the name does not exist), SCRAPE_TARGET_FORBIDDEN
   * when no address is allowed, UNSUPPORTED_SITE for a blocked host; the signal's reason when it fires first
   */
  async resolve(host: string, port: number, signal?: AbortSignal): Promise<string[]> {
    signal?.throwIfAborted();
    if (this.allow.isBlocked?.(host)) throw blockedTarget(host);
    const addresses = literalAddresses(host) ?? (await waitFor(this.addressesOf(normaliseHost(host)), signal));
    const allowed = addresses.filter((ip) => isAddressAllowed(ip, port, host, this.allow));
    if (allowed.length === 0) throw forbiddenTarget(`${host}:${port}`);
    return allowed;
  }

  /** Gives up the queries under way; their callers get a retryable error. */
  close(): void {
    this.source.cancel();
  }

  private addressesOf(host: string): string[] | Promise<string[]> {
    const known = this.answers.get(host);
    if (known !== undefined) return known;
    const running = this.pending.get(host);
    if (running !== undefined) return running;
    const query = this.ask(host).finally(() => this.pending.delete(host));
    this.pending.set(host, query);
    return query;
  }

  private async ask(host: string): Promise<string[]> {
    const answer = await this.source.lookup(host).catch((error: unknown) => {
      throw dnsError(host, error);
    });
    if (answer.addresses.length === 0) throw dnsError(host, { code: 'ENODATA' });
    const ttl = Math.min(Math.max(answer.ttlMs, MIN_TTL_MS), this.maxTtlMs);
    if (ttl > 0) this.answers.set(host, answer.addresses, { ttl });
    return answer.addresses;
  }
}

function sourceAt(servers: string[]): Source {
  const resolver = new dns.promises.Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
  resolver.setServers(servers);
  return { lookup: (host) => lookupAt(resolver, host), cancel: () => resolver.cancel() };
}

async function lookupAt(resolver: dns.promises.Resolver, host: string): Promise<Answer> {
  const [v4, v6] = await Promise.allSettled([
    resolver.resolve4(host, { ttl: true }),
    resolver.resolve6(host, { ttl: true }),
  ]);
  if (v4.status === 'rejected' && v6.status === 'rejected') throw worseFailure(v4.reason, v6.reason);
  const records = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  return {
    addresses: records.map((record) => record.address),
    ttlMs: Math.min(...records.map((record) => record.ttl)) * 1000,
  };
}

/** "No such name" only when both questions say so; a server that failed on one may know more in a moment. */
function worseFailure(a: unknown, b: unknown): unknown {
  return UNKNOWN_HOST.has(codeOf(a)) ? b : a;
}

/** The hosts file and the system's resolver; it cannot be cancelled and keeps time by its own rules. */
const SYSTEM: Source = {
  lookup: async (host) => {
    const records = await dns.promises.lookup(host, { all: true, verbatim: true });
    return { addresses: records.map((record) => record.address), ttlMs: Infinity };
  },
  cancel: () => undefined,
};

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

function dnsError(host: string, cause: unknown): TroupeError {
  const code = codeOf(cause);
  const unknown = UNKNOWN_HOST.has(code);
  const text = unknown
    ? `the host name ${host} does not exist`
    : `the host name ${host} could not be resolved (${code})`;
  return new TroupeError('SCRAPE_DNS_RESOLUTION_ERROR', text, { retryable: !unknown });
}

/** The query goes on for other callers when this caller's signal fires. */
async function waitFor<T>(value: T | Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!(value instanceof Promise) || signal === undefined) return value;
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  return Promise.race([value, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
}
