/**
 * Which jobs were paused or resumed last, known to every process within milliseconds. Advisory: a lane names the news its
 * job knew (`Lane.pauseV`), so entries that were written in the wrong order, or not at all, stop nothing for ever.
 */
import { BUCKETS, type PauseNews, type Uuid } from '@troupe/contracts';
import { LRUCache } from 'lru-cache';
import { BucketWatch } from './bucket-watch.js';
import type { NatsLink } from './nats-link.js';

const REMEMBERED_JOBS = 100_000;

export class PauseBoard {
  private readonly news = new LRUCache<Uuid, PauseNews>({ max: REMEMBERED_JOBS });
  private readonly watch: BucketWatch;

  constructor(private readonly link: NatsLink) {
    this.watch = new BucketWatch(link, BUCKETS.pause, {
      onReset: () => undefined,
      onChange: ({ key, value }) => {
        const news = value === null ? null : readNews(value);
        if (news !== null) this.note(key, news);
      },
      onSynced: () => undefined,
    });
  }

  start(): Promise<void> {
    return this.watch.start();
  }

  stop(): Promise<void> {
    return this.watch.stop();
  }

  /** News beyond pause or resume number `knownV` of the job; null when there are none. */
  newsSince(job: Uuid, knownV: number): PauseNews | null {
    const news = this.news.get(job);
    return news !== undefined && news.v > knownV ? news : null;
  }

  async put(job: Uuid, news: PauseNews): Promise<void> {
    this.note(job, news);
    await (await this.link.kv(BUCKETS.pause)).put(job, JSON.stringify(news));
  }

  private note(job: Uuid, news: PauseNews): void {
    if (this.newsSince(job, news.v - 1) === null) this.news.set(job, news);
  }
}

function readNews(value: Uint8Array): PauseNews | null {
  try {
    const { v, paused } = JSON.parse(Buffer.from(value).toString('utf8')) as Partial<PauseNews>;
    return typeof v === 'number' && typeof paused === 'boolean' ? { v, paused } : null;
  } catch {
    return null;
  }
}
