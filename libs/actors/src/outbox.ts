/**
 * Publishes what a partition's turns committed. Work rows are deleted once the stream has them; pair messages stay
 * until the receiver's cursor in the store has passed them, and are sent again while it has not (docs/design/actors.md,
 * "Messages between actors").
 */
import type { Clock, RuntimeLog } from './clock.js';
import type { ActorStore, Bus, OutboxRow } from './ports.js';

const DELETE_BATCH = 64;
const RETRY_MS = 1_000;
const RESEND_AFTER_MS = 30_000;
const RESEND_LIMIT = 500;
/** By then a commit whose answer was lost has ended, one way or the other. */
const DOUBT_MS = 5_000;
/** Beyond this many unsent rows nothing is dispatched any more. */
const RECOVER_LIMIT = 50_000;

export interface OutboxDeps {
  store: ActorStore;
  bus: Bus;
  log: RuntimeLog;
  clock: Pick<Clock, 'now' | 'wall'>;
}

export class Outbox {
  private readonly acked: number[] = [];
  private readonly failed = new Map<number, { row: OutboxRow; tries: number; at: number }>();
  private pairsOpen = false;
  private resendAt = 0;
  /** When the table is searched for rows that such a commit has left; null: there was none. */
  private lookAt: number | null = null;

  constructor(
    private readonly part: number,
    private readonly deps: OutboxDeps,
  ) {}

  /** Rows that an earlier owner committed and perhaps never published. */
  async recover(): Promise<void> {
    const rows = await this.deps.store.loadOutbox(this.part, 0, RECOVER_LIMIT);
    this.publish(rows, 1);
    this.pairsOpen = rows.some((row) => row.to !== null);
    this.resendAt = this.deps.clock.now() + RESEND_AFTER_MS;
  }

  /** A turn may have been committed although its answer was lost. Then only the table has its messages. */
  doubt(): void {
    this.lookAt ??= this.deps.clock.now() + DOUBT_MS;
  }

  /** In the order of the calls; returns at once. */
  publish(rows: readonly OutboxRow[], tries = 0): void {
    for (const row of rows) {
      if (row.to !== null) this.pairsOpen = true;
      this.send(row, tries).then(
        () => {
          if (row.to === null) this.acked.push(row.id);
        },
        (error: unknown) => {
          this.deps.log.warn(
            { part: this.part, outbox: row.id, err: String(error) },
            'publish failed, will be repeated',
          );
          if (row.to === null) this.failed.set(row.id, { row, tries: tries + 1, at: this.deps.clock.now() + RETRY_MS });
        },
      );
    }
  }

  /** Housekeeping between drains. */
  async tend(force = false): Promise<void> {
    if (this.acked.length >= DELETE_BATCH || (force && this.acked.length > 0)) {
      const ids = this.acked.splice(0);
      try {
        await this.deps.store.deleteOutbox(this.part, ids);
      } catch (error) {
        this.acked.push(...ids);
        throw error;
      }
    }
    const now = this.deps.clock.now();
    for (const [id, entry] of this.failed) {
      if (entry.at > now) continue;
      this.failed.delete(id);
      this.publish([entry.row], entry.tries);
    }
    if (this.lookAt !== null && now >= this.lookAt) {
      await this.recover();
      this.lookAt = null;
      return;
    }
    if (now < this.resendAt) return;
    this.resendAt = now + RESEND_AFTER_MS;
    await this.resendPairs();
  }

  private async resendPairs(): Promise<void> {
    if (!this.pairsOpen) return;
    await this.deps.store.sweepPairs(this.part);
    const waiting = await this.deps.store.loadOpenPairs(this.part, 0, 0, 1);
    this.pairsOpen = waiting.length > 0;
    // A round of its own: within the window of duplicates an id that comes again is not stored again.
    const round = Math.floor(this.deps.clock.wall() / RESEND_AFTER_MS);
    for (let after = 0; ;) {
      const rows = await this.deps.store.loadOpenPairs(this.part, RESEND_AFTER_MS, after, RESEND_LIMIT);
      this.publish(rows, round);
      if (rows.length < RESEND_LIMIT) return;
      after = rows.at(-1)!.id;
    }
  }

  private send(row: OutboxRow, tries: number): Promise<void> {
    const { payload } = row;
    const id = `o.${this.part}.${row.id}`;
    // Work keeps its id: what the stream has is not wanted twice. A pair message may have been lost behind the stream.
    if (payload.kind === 'work')
      return this.deps.bus.publishWork(payload.cls, payload.prio, id, payload.msg, payload.trace);
    return this.deps.bus.publishActor({ ...payload.envelope, id: `${id}.${tries}` });
  }
}
