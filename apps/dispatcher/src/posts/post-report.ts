/**
 * Sends the results of a run to the delivery actor: together once a second, and a sign of life when there are none for
 * a while.
 */
import { randomUUID } from 'node:crypto';
import type { Post, PostDone, PostResult, TraceParent } from '@troupe/contracts';
import { publishWithRetry } from '@troupe/messaging';
import type { Mailboxes } from './ports.js';

const TICK_MS = 1_000;
/** Ticks without a result after which the run is said to go on; the actor waits three times as long. */
const QUIET_TICKS = 5;

export class PostReport {
  private results: PostResult[] = [];
  private quiet = 0;
  private parts = 0;
  private readonly id = randomUUID();
  private sending: Promise<void> = Promise.resolve();
  private readonly timer = setInterval(() => this.tick(), TICK_MS);

  constructor(
    private readonly post: Post,
    private readonly mailboxes: Mailboxes,
    private readonly instance: string,
    private readonly trace?: TraceParent,
  ) {}

  add(result: PostResult): void {
    this.results.push(result);
  }

  /**
   * Resolves when the actor has all results.
   *
   * @param waitMs the run is handed back, and this is when its other events should be tried @throws the error of the
   * publish that failed to the end
   */
  async end(waitMs: number | null = null): Promise<void> {
    clearInterval(this.timer);
    if (this.results.length > 0 || waitMs !== null) this.send(waitMs);
    await this.sending;
  }

  private tick(): void {
    if (this.results.length === 0 && ++this.quiet < QUIET_TICKS) return;
    this.quiet = 0;
    this.send();
  }

  private send(waitMs: number | null = null): void {
    const { run, attempt, actor } = this.post;
    const handedBack = waitMs === null ? {} : { waitMs };
    const body: PostDone = { type: 'PostDone', run, attempt, results: this.results, ...handedBack };
    this.results = [];
    const id = `w.${this.id}.${this.parts++}`;
    const from = `w/${this.instance}` as const;
    const envelope = { id, type: body.type, v: 1, from, to: actor, n: null, body, trace: this.trace };
    this.sending = this.sending.then(() => publishWithRetry(this.mailboxes, envelope));
    // `end` looks at the error.
    this.sending.catch(() => undefined);
  }
}
