/**
 * Whether Postgres answers. A machine that is gone, or a network that loses packets, ends no connection: a statement that waits
 * for an answer would wait for a quarter of an hour. Every answer counts. Without one, a connection of its own asks.
 */
import { TroupeError } from '@troupe/contracts';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** Without an answer for this long Postgres counts as lost. */
export const LOST_MS = 10_000;
/** Without an answer for this long it is asked. */
const QUIET_MS = 3_000;
const PROBE_MS = 3_000;
/** Time from one question to the next while it does not answer. */
const AGAIN_MS = 1_000;
const TICK_MS = 500;
/** Time to close the connection. A server that does not answer does not close it either. */
const CLOSE_MS = 1_000;

/** Thrown at once while Postgres is lost, instead of waiting for it. Nothing was asked of it. */
export class DatabaseSilentError extends TroupeError {
  constructor(silentMs: number) {
    super('UNKNOWN_ERROR', `Postgres has not answered for ${Math.round(silentMs / 1000)} s`, {
      retryable: true,
      httpStatus: 503,
    });
    this.name = 'DatabaseSilentError';
  }
}

/** Log of the pulse; the shape of pino. */
export interface PulseLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export class Pulse {
  private readonly onLost = new Set<() => void>();
  private silent = 0;
  private askedAt = -Infinity;
  private isAsking = false;
  private hasLost = false;
  private client: pg.Client | null = null;
  private tickedAt: number;
  private readonly timer: NodeJS.Timeout;
  private asking: Promise<void> = Promise.resolve();

  /**
   * @param config of the connection that asks
   * @param now monotonic, in ms
   */
  constructor(
    private readonly config: pg.ClientConfig,
    private readonly log: PulseLog | null = null,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.tickedAt = now();
    this.timer = setInterval(() => this.tick(), TICK_MS).unref();
  }

  /** How long no answer was heard, as far as this process was awake to hear it. */
  silentMs(): number {
    return this.silent;
  }

  isLost(): boolean {
    return this.silent >= LOST_MS;
  }

  /** Postgres has answered on some connection. */
  heard(): void {
    this.silent = 0;
    if (!this.hasLost) return;
    this.hasLost = false;
    this.log?.info({}, 'Postgres answers again');
  }

  /** Calls `listener` whenever Postgres is lost. */
  whenLost(listener: () => void): void {
    this.onLost.add(listener);
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.asking;
    const closing = this.client?.end().catch(() => undefined);
    await Promise.race([closing, sleep(CLOSE_MS, undefined, { ref: false })]);
    this.dropConnection();
  }

  /** Time during which this process stands still is not silence: the answer may have come. */
  private tick(): void {
    const now = this.now();
    this.silent += Math.min(now - this.tickedAt, 2 * TICK_MS);
    this.tickedAt = now;
    if (this.isLost() && !this.hasLost) {
      this.hasLost = true;
      this.log?.warn({ silentMs: Math.round(this.silent) }, 'Postgres says nothing: its connections are closed');
      for (const listener of this.onLost) listener();
    }
    if (this.silent < QUIET_MS || this.isAsking || now - this.askedAt < AGAIN_MS) return;
    this.askedAt = now;
    this.asking = this.ask();
  }

  private async ask(): Promise<void> {
    this.isAsking = true;
    try {
      this.client ??= await this.connect();
      await this.client.query('SELECT 1');
      this.heard();
    } catch {
      this.dropConnection();
    }
    this.isAsking = false;
  }

  private async connect(): Promise<pg.Client> {
    const client = new pg.Client({ ...this.config, connectionTimeoutMillis: PROBE_MS, query_timeout: PROBE_MS });
    client.on('error', () => undefined);
    await client.connect();
    streamOf(client).unref();
    return client;
  }

  private dropConnection(): void {
    if (this.client !== null) streamOf(this.client).destroy();
    this.client = null;
  }
}

interface Stream {
  destroy(): void;
  unref(): void;
}

/** The socket of a connection that is open, or being opened. */
export function streamOf(client: pg.ClientBase): Stream {
  return (client as unknown as { connection: { stream: Stream } }).connection.stream;
}
