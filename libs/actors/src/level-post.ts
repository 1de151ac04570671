/**
 * Level messages: sent once, never kept; the newest of them is enough. Messages to actors of this process do not leave
 * it. The others go over the bus, those to the same partition together.
 */
import { partitionOf, type Envelope, type Mail, type PartitionBundle } from '@troupe/contracts';
import type { Clock, RuntimeLog } from './clock.js';
import type { Bus } from './ports.js';

/** Level messages are small: so many stay far below the limit of a stream. */
const MAX_LETTERS = 128;

export interface LevelPostDeps {
  bus: Bus;
  log: RuntimeLog;
  clock: Clock;
  /**
   * Least time from one mail to the next: messages from partitions of this process travel together meanwhile. A message after
   * a rest does not wait.
   */
  paceMs: number;
  /** Hands a message to its partition if this process holds that; false when it does not. @default none is held */
  deliverHere?(envelope: Envelope): boolean;
}

export class LevelPost {
  private waiting: Envelope[] = [];
  private nextAt = 0;

  constructor(private readonly deps: LevelPostDeps) {}

  publish(envelopes: readonly Envelope[]): void {
    const { clock, paceMs, deliverHere } = this.deps;
    const forOthers = deliverHere === undefined ? envelopes : envelopes.filter((envelope) => !deliverHere(envelope));
    if (forOthers.length === 0) return;
    const isFirst = this.waiting.length === 0;
    this.waiting.push(...forOthers);
    const restMs = Math.min(paceMs, this.nextAt - clock.now());
    if (restMs <= 0) this.flush();
    else if (isFirst) void clock.sleep(restMs).then(() => this.flush());
  }

  flush(): void {
    this.nextAt = this.deps.clock.now() + this.deps.paceMs;
    for (const mail of bundled(this.waiting.splice(0))) {
      this.deps.bus.publishActor(mail).catch((error: unknown) => {
        this.deps.log.debug({ to: mail.to, type: mail.type, err: String(error) }, 'level message not sent');
      });
    }
  }
}

/** Keeps the order per receiver; a single letter travels as it is. */
function bundled(envelopes: readonly Envelope[]): Mail[] {
  const bundles = new Map<number, Envelope[]>();
  const full: Envelope[][] = [];
  for (const envelope of envelopes) {
    const part = partitionOf(envelope.to);
    const bundle = bundles.get(part);
    if (bundle === undefined) bundles.set(part, [envelope]);
    else if (bundle.push(envelope) === MAX_LETTERS) {
      full.push(bundle);
      bundles.delete(part);
    }
  }
  return [...full, ...bundles.values()].map(mailOf);
}

function mailOf(letters: Envelope[]): Mail {
  const first = letters[0]!;
  if (letters.length === 1) return first;
  const body: PartitionBundle = { type: 'Sack', letters };
  return { ...first, type: body.type, body };
}
