/**
 * One connection of a process to NATS, and the desired state of what must exist there.
 *
 * The connection is kept for ever. A server that comes back may have lost its memory buckets, or everything: after each
 * reconnect the topology is made whole again before the listeners of `onRestored` are told to rebuild what they had.
 */
import { jetstream, jetstreamManager, type JetStreamClient, type JetStreamManager } from '@nats-io/jetstream';
import { Kvm, type KV } from '@nats-io/kv';
import { connect, type ConnectionOptions, type NatsConnection } from '@nats-io/transport-node';
import { NO_TRACES, TroupeError, type Tracer } from '@troupe/contracts';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureBuckets, ensureStreams } from './topology.js';

export interface NatsLinkOptions {
  /** One address or several, separated by commas. */
  url: string;
  /** Shown in the server's list of connections. */
  name: string;
  /** Copies of streams and buckets. @default 1 */
  replicas?: number;
  /** Told of trouble that heals by itself. @default nothing */
  onProblem?: (problem: string, error: unknown) => void;
  /** Told of every message and request that belongs to a recorded trace. @default nobody */
  tracer?: Tracer;
}

const MIN_SERVER = [2, 11] as const;
/** What the server must accept in one message; `max_payload: 8MB` in its configuration. */
export const MIN_PAYLOAD_BYTES = 8_000_000;
const REQUEST_TIMEOUT_MS = 5_000;
const RESTORE_RETRY_MS = 200;

/** Thrown by `NatsLink.open` when the server cannot carry Troupe; says what to change. */
export class NatsServerUnfitError extends TroupeError {
  constructor(message: string) {
    super('UNKNOWN_ERROR', message);
    this.name = 'NatsServerUnfitError';
  }
}

/** The client takes credentials apart from addresses; a URL carries them as `user:password@` or `token@`. */
function addressOf(url: string): Pick<ConnectionOptions, 'servers' | 'user' | 'pass' | 'token'> {
  const parsed = url
    .split(',')
    .map((server) => new URL(server.includes('://') ? server.trim() : `nats://${server.trim()}`));
  const servers = parsed.map(({ host }) => host);
  const { username, password } = parsed.find((server) => server.username !== '') ?? parsed[0]!;
  if (username === '') return { servers };
  const user = decodeURIComponent(username);
  return password === '' ? { servers, token: user } : { servers, user, pass: decodeURIComponent(password) };
}

export class NatsLink {
  readonly js: JetStreamClient;
  readonly #kvm: Kvm;
  readonly #buckets = new Map<string, Promise<KV>>();
  readonly #listeners = new Set<() => void>();
  #up = true;
  #wantsTopology = false;
  #ensuring: Promise<void> | null = null;

  private constructor(
    readonly nc: NatsConnection,
    readonly jsm: JetStreamManager,
    private readonly options: NatsLinkOptions,
  ) {
    this.js = jetstream(nc, { timeout: REQUEST_TIMEOUT_MS });
    this.#kvm = new Kvm(this.js);
    void this.#watchStatus();
  }

  /**
   * Connects, waiting for a server that is not there yet.
   * @throws NatsServerUnfitError when the server is older than 2.11, has no JetStream or takes too small messages.
   */
  static async open(options: NatsLinkOptions): Promise<NatsLink> {
    const nc = await connect({
      ...addressOf(options.url),
      name: options.name,
      maxReconnectAttempts: -1,
      waitOnFirstConnect: true,
      ignoreAuthErrorAbort: true,
      noAsyncTraces: true,
      reconnectTimeWait: 200,
      reconnectJitter: 100,
      pingInterval: 10_000,
      maxPingOut: 2,
      timeout: REQUEST_TIMEOUT_MS,
    });
    try {
      checkServer(nc);
      const jsm = await jetstreamManager(nc, { timeout: REQUEST_TIMEOUT_MS, checkAPI: false });
      return new NatsLink(nc, jsm, options);
    } catch (error) {
      await nc.close();
      throw error;
    }
  }

  /** The bucket as a handle that outlives its deletion and recreation. */
  kv(bucket: string): Promise<KV> {
    let handle = this.#buckets.get(bucket);
    if (handle === undefined) {
      handle = this.#kvm.open(bucket, { allow_direct: true });
      handle.catch(() => this.#buckets.delete(bucket));
      this.#buckets.set(bucket, handle);
    }
    return handle;
  }

  /**
   * Creates what is missing and mends what differs; safe when every service calls it at once. From the first call on
   * it is repeated after each reconnect.
   */
  ensureTopology(): Promise<void> {
    this.#wantsTopology = true;
    this.#ensuring ??= this.#ensure().finally(() => {
      this.#ensuring = null;
    });
    return this.#ensuring;
  }

  /** Runs `listener` after every reconnect, once the topology is whole again. Returns the way out. */
  onRestored(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  isUp(): boolean {
    return this.#up && !this.nc.isClosed() && !this.nc.isDraining();
  }

  /** A round trip to the server and to JetStream. Rejects when either does not answer within 2 s. */
  async ping(): Promise<void> {
    if (!this.isUp())
      throw new TroupeError('UNKNOWN_ERROR', 'NATS is not connected', { retryable: true, httpStatus: 503 });
    await this.nc.request('$JS.API.INFO', undefined, { timeout: 2_000 });
  }

  async close(): Promise<void> {
    if (this.nc.isClosed()) return;
    if (!this.#up) return this.nc.close();
    await this.nc.drain().catch(() => this.nc.close());
  }

  get tracer(): Tracer {
    return this.options.tracer ?? NO_TRACES;
  }

  /** Reports trouble that heals by itself. */
  problem(text: string, error: unknown): void {
    this.options.onProblem?.(text, error);
  }

  async #ensure(): Promise<void> {
    const replicas = this.options.replicas ?? 1;
    await ensureStreams(this.jsm, replicas);
    await ensureBuckets(this.jsm, this.#kvm, replicas);
  }

  async #watchStatus(): Promise<void> {
    for await (const status of this.nc.status()) {
      if (status.type === 'disconnect') this.#up = false;
      if (status.type === 'reconnect') {
        this.#up = true;
        void this.#restore();
      }
    }
    this.#up = false;
  }

  /** JetStream answers a little later than the server does, so this repeats until it works or the link breaks again. */
  async #restore(): Promise<void> {
    while (this.isUp()) {
      try {
        if (this.#wantsTopology) await this.ensureTopology();
        for (const listener of this.#listeners) listener();
        return;
      } catch (error) {
        this.problem('topology not restored yet', error);
        await sleep(RESTORE_RETRY_MS);
      }
    }
  }
}

function checkServer(nc: NatsConnection): void {
  const info = nc.info;
  if (info === undefined) throw new NatsServerUnfitError('The NATS server did not introduce itself');
  const [major = 0, minor = 0] = info.version.split('.').map((part) => Number.parseInt(part, 10));
  if (major < MIN_SERVER[0] || (major === MIN_SERVER[0] && minor < MIN_SERVER[1])) {
    throw new NatsServerUnfitError(
      `nats-server ${info.version} is too old: Troupe needs ${MIN_SERVER.join('.')} or newer`,
    );
  }
  if (info.jetstream !== true) {
    throw new NatsServerUnfitError('JetStream is off on the NATS server: start it with -js or a `jetstream {}` block');
  }
  if (info.max_payload < MIN_PAYLOAD_BYTES) {
    throw new NatsServerUnfitError(
      `The NATS server takes messages of at most ${info.max_payload} bytes: set max_payload to 8MB in its configuration`,
    );
  }
}
