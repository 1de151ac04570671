/**
 * Whether JetStream stores what it is sent. A server whose disk is full answers all other requests as ever, and does not answer
 * writes at all: only a process that publishes can know.
 */
import { isRevisionConflict } from './kv-errors.js';

/** Failures of one stream in a row from which on it counts as closed. The answer to a single write may be lost. */
const FAILURES = 2;
/** A process that has tried nothing for this long does not know any more. */
const FORGET_MS = 60_000;

interface Trouble {
  failures: number;
  sinceMs: number;
  lastMs: number;
  error: unknown;
}

export class WriteWatch {
  private readonly troubles = new Map<string, Trouble>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Resolves or rejects as `write` does, and remembers which. @param subject under which it publishes */
  async watch<T>(subject: string, write: () => Promise<T>): Promise<T> {
    const stream = streamOf(subject);
    try {
      const stored = await write();
      this.troubles.delete(stream);
      return stored;
    } catch (error) {
      // The server compared revisions, so it could have written.
      if (isRevisionConflict(error)) this.troubles.delete(stream);
      else this.remember(stream, error);
      throw error;
    }
  }

  /** The server is another one, or started anew. */
  forget(): void {
    this.troubles.clear();
  }

  /** A complaint in words for operators, null when nothing is known to be wrong. */
  complaint(): string | null {
    const now = this.now();
    const closed = [...this.troubles].filter(
      ([, { failures, lastMs }]) => failures >= FAILURES && now - lastMs < FORGET_MS,
    );
    if (closed.length === 0) return null;
    const words = closed.map(([stream, { sinceMs, error }]) => {
      const why = error instanceof Error ? error.message : String(error);
      return `${stream} (${why}) for ${Math.round((now - sinceMs) / 1000)} s`;
    });
    return `JetStream does not store what is sent to ${words.join(', ')}; is the disk of the NATS server full?`;
  }

  private remember(stream: string, error: unknown): void {
    const lastMs = this.now();
    const { failures, sinceMs } = this.troubles.get(stream) ?? { failures: 0, sinceMs: lastMs };
    this.troubles.set(stream, { failures: failures + 1, sinceMs, lastMs, error });
  }
}

/** `act`, `work`, or the bucket: `$KV.part.7` → `$KV.part`. */
function streamOf(subject: string): string {
  const [first = '', second = ''] = subject.split('.', 2);
  return first === '$KV' ? `${first}.${second}` : first;
}
