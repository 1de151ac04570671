/**
 * One connection of a process to NATS, and the desired state of what must exist there.
 *
 * The connection is kept for ever. A server that comes back may have lost its memory buckets, or everything: after each
 * reconnect the topology is made whole again before the listeners of `onRestored` are told to rebuild what they had.
 */
import { jetstream, jetstreamManager, type JetStreamClient, type JetStreamManager } from '@nats-io/jetstream';
import { Kvm, type KV } from '@nats-io/kv';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { NO_TRACES, TroupeError, type Tracer } from '@troupe/contracts';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isSupportedVersion, MIN_PAYLOAD_BYTES, OLDEST_SERVER, replicasFor } from './nats-requirements.js';
import { accessOf, type NatsServerSettings } from './nats-server.js';
import { ensureBuckets, ensureStreams, hasTooFewServers, isTransient } from './topology.js';
import { WriteWatch } from './write-watch.js';

export interface NatsLinkOptions {
  server: NatsServerSettings;
  /** Shown in the server's list of connections. */
  name: string;
  /** Told of trouble that heals by itself. @default nothing */
  onProblem?: (problem: string, error: unknown) => void;
  /** Told of every message and request that belongs to a recorded trace. @default none is told */
  tracer?: Tracer;
}

const REQUEST_TIMEOUT_MS = 5_000;
/** A server that leaves two pings unanswered until the next is due is gone: 9 s at most. */
const PING_MS = 3_000;
const PINGS_UNANSWERED = 2;
/** Time to send the rest over a connection that is given up. */
const LAST_WORDS_MS = 500;
const RESTORE_RETRY_MS = 200;
const CONNECT_RETRY_MS = 300;
/** How often a server that cannot be reached is spoken of. */
const COMPLAIN_EVERY_MS = 10_000;
/** A cluster of servers elects its leaders within this time. */
const ELECTION_MS = 30_000;

/** Thrown by `NatsLink.open` when the server cannot carry Troupe; says what to change. */
export class NatsServerUnfitError extends TroupeError {
  constructor(message: string) {
    super('UNKNOWN_ERROR', message);
    this.name = 'NatsServerUnfitError';
  }
}

export class NatsLink {
  readonly js: JetStreamClient;
  private readonly kvm: Kvm;
  private readonly buckets = new Map<string, Promise<KV>>();
  private readonly listeners = new Set<() => void>();
  private readonly writes = new WriteWatch();
  private up = true;
  private wantsTopology = false;
  private ensuring: Promise<void> | null = null;

  private constructor(
    readonly nc: NatsConnection,
    readonly jsm: JetStreamManager,
    private readonly options: NatsLinkOptions,
  ) {
    this.js = jetstream(nc, { timeout: REQUEST_TIMEOUT_MS });
    const publish = this.js.publish.bind(this.js);
    // Connection by which buckets publish, too.
    this.js.publish = (subject, ...rest) => this.writes.watch(subject, () => publish(subject, ...rest));
    this.kvm = new Kvm(this.js);
    void this.watchStatus();
  }

  /**
   * Connects, waiting for a server that is not there yet or does not let us in.
   * @throws NatsServerUnfitError when the server is older than 2.11, has no JetStream or takes too small messages.
   * @throws NatsAccessError when a file with credentials cannot be used.
   */
  static async open(options: NatsLinkOptions): Promise<NatsLink> {
    const nc = await connectPatiently(options);
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
    let handle = this.buckets.get(bucket);
    if (handle === undefined) {
      handle = this.kvm.open(bucket, { allow_direct: true });
      handle.catch(() => this.buckets.delete(bucket));
      this.buckets.set(bucket, handle);
    }
    return handle;
  }

  /**
   * Creates what is missing and mends what differs; safe when every service calls it at once. From the first call on
   * it is repeated after each reconnect.
   */
  ensureTopology(): Promise<void> {
    this.wantsTopology = true;
    this.ensuring ??= this.ensure().finally(() => {
      this.ensuring = null;
    });
    return this.ensuring;
  }

  /** Runs `listener` after every reconnect, once the topology is whole again. Returns the way out. */
  onRestored(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  isUp(): boolean {
    return this.up && !this.nc.isClosed() && !this.nc.isDraining();
  }

  /** A round trip to the server and to JetStream. Rejects when either does not answer within 2 s, or what we sent was not stored. */
  async ping(): Promise<void> {
    if (!this.isUp())
      throw new TroupeError('UNKNOWN_ERROR', 'NATS is not connected', { retryable: true, httpStatus: 503 });
    await this.nc.request('$JS.API.INFO', undefined, { timeout: 2_000 });
    const complaint = this.writes.complaint();
    if (complaint !== null) throw new TroupeError('UNKNOWN_ERROR', complaint, { retryable: true, httpStatus: 503 });
  }

  async close(): Promise<void> {
    if (this.nc.isClosed()) return;
    if (!this.up) return this.nc.close();
    await this.nc.drain().catch(() => this.nc.close());
  }

  get tracer(): Tracer {
    return this.options.tracer ?? NO_TRACES;
  }

  /** Reports trouble that heals by itself. */
  problem(text: string, error: unknown): void {
    this.options.onProblem?.(text, error);
  }

  private async ensure(): Promise<void> {
    const untilMs = performance.now() + ELECTION_MS;
    for (;;) {
      try {
        await ensureStreams(this.jsm, this.replicas());
        await ensureBuckets(this.jsm, this.kvm, this.replicas());
        return;
      } catch (error) {
        if (hasTooFewServers(error)) throw new NatsServerUnfitError(this.tooFewServers());
        if (!isTransient(error) || !this.isUp() || performance.now() > untilMs) throw error;
        this.problem('JetStream does not answer yet', error);
        await sleep(RESTORE_RETRY_MS * 5);
      }
    }
  }

  /** Copies of streams and buckets. */
  private replicas(): number {
    return replicasFor(this.options.server, this.nc.info?.cluster);
  }

  private tooFewServers(): string {
    const servers = this.nc.info?.cluster === undefined ? 'The NATS server is alone' : 'The NATS cluster is too small';
    return `${servers}: it cannot keep ${this.replicas()} copies. Add servers with JetStream, or set NATS_REPLICAS=1`;
  }

  private async watchStatus(): Promise<void> {
    for await (const status of this.nc.status()) {
      if (status.type === 'staleConnection') this.dropConnection();
      if (status.type === 'disconnect') this.up = false;
      if (status.type === 'reconnect') {
        this.up = true;
        this.writes.forget();
        void this.restore();
      }
    }
    this.up = false;
  }

  /** The client sends everything before it closes. On a connection that takes nothing any more it would wait for a quarter of an hour. */
  private dropConnection(): void {
    const { protocol } = this.nc as unknown as { protocol?: { transport?: { socket?: Socket } } };
    const socket = protocol?.transport?.socket;
    setTimeout(() => socket?.destroy(), LAST_WORDS_MS).unref();
  }

  /** JetStream answers a little later than the server does, so this repeats until it works or the link breaks again. */
  private async restore(): Promise<void> {
    while (this.isUp()) {
      try {
        if (this.wantsTopology) await this.ensureTopology();
        for (const listener of this.listeners) listener();
        return;
      } catch (error) {
        this.problem('topology not restored yet', error);
        await sleep(RESTORE_RETRY_MS);
      }
    }
  }
}

async function connectPatiently({ server, name, onProblem }: NatsLinkOptions): Promise<NatsConnection> {
  const access = accessOf(server);
  for (let toldAtMs = -COMPLAIN_EVERY_MS; ;) {
    try {
      return await connect({
        ...access,
        name,
        maxReconnectAttempts: -1,
        ignoreAuthErrorAbort: true,
        noAsyncTraces: true,
        reconnectTimeWait: 200,
        reconnectJitter: 100,
        pingInterval: PING_MS,
        maxPingOut: PINGS_UNANSWERED,
        timeout: REQUEST_TIMEOUT_MS,
      });
    } catch (error) {
      if (performance.now() - toldAtMs >= COMPLAIN_EVERY_MS) {
        toldAtMs = performance.now();
        onProblem?.('NATS cannot be reached yet', error);
      }
      await sleep(CONNECT_RETRY_MS);
    }
  }
}

function checkServer(nc: NatsConnection): void {
  const info = nc.info;
  if (info === undefined) throw new NatsServerUnfitError('The NATS server did not introduce itself');
  if (!isSupportedVersion(info.version)) {
    throw new NatsServerUnfitError(
      `nats-server ${info.version} is too old: Troupe needs ${OLDEST_SERVER.join('.')} or newer`,
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
