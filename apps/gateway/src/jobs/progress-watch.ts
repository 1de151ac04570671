/** Wakes held status requests when their job moves (`evt.job.<job>`, lossy). */
import { progressSubject, type JobProgress, type Uuid } from '@troupe/contracts';
import { type Listener } from './ports.js';

export interface Watch {
  /** Resolves on progress that is news and arrived since the last call, after `ms`, or when the caller is gone. */
  next(ms: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Requests held at the same time; beyond that they are answered at once. */
const MAX_WATCHES = 5_000;

class HeldRequest implements Watch {
  private hasNews = false;
  private wake: (() => void) | null = null;

  constructor(
    private readonly isNews: (progress: JobProgress) => boolean,
    readonly close: () => void,
  ) {}

  tell(progress: JobProgress | null): void {
    if (progress !== null && !this.isNews(progress)) return;
    this.hasNews = true;
    this.wake?.();
  }

  next(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.wake = null;
        this.hasNews = false;
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener('abort', done, { once: true });
      this.wake = done;
      if (this.hasNews || signal.aborted) done();
    });
  }
}

interface Topic {
  held: Set<HeldRequest>;
  stop: () => void;
}

export class ProgressWatch {
  private readonly topics = new Map<Uuid, Topic>();
  private count = 0;
  private isClosed = false;

  constructor(private readonly listener: Listener) {}

  /** Whether requests may still be held. */
  get isOpen(): boolean {
    return !this.isClosed;
  }

  /** null when too many requests are held already, or the gateway drains. */
  watch(job: Uuid, isNews: (progress: JobProgress) => boolean): Watch | null {
    if (this.isClosed || this.count >= MAX_WATCHES) return null;
    const topic = this.topicOf(job);
    const request = new HeldRequest(isNews, () => this.leave(job, topic, request));
    topic.held.add(request);
    this.count++;
    return request;
  }

  /** Answers every held request now, and holds no further one. */
  close(): void {
    this.isClosed = true;
    for (const { held } of this.topics.values()) for (const request of held) request.tell(null);
  }

  private topicOf(job: Uuid): Topic {
    let topic = this.topics.get(job);
    if (!topic) {
      const held = new Set<HeldRequest>();
      const stop = this.listener.listen<JobProgress>(progressSubject(job), (progress) => {
        for (const request of [...held]) request.tell(progress);
      });
      topic = { held, stop };
      this.topics.set(job, topic);
    }
    return topic;
  }

  private leave(job: Uuid, topic: Topic, request: HeldRequest): void {
    if (!topic.held.delete(request)) return;
    this.count--;
    if (topic.held.size > 0) return;
    topic.stop();
    this.topics.delete(job);
  }
}
