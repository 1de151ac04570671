/**
 * Crawl-delays that a lane meets and its job did not know of, told to the actor of the host. The job's next lanes will
 * keep them; until then each fetcher does so by itself.
 */
import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { actorKey, type RobotsDone } from '@troupe/contracts';
import { INSTANCE, LOG } from '@troupe/service';
import { LRUCache } from 'lru-cache';
import { MAILBOXES, type Mailboxes } from '../cluster/ports.js';

@Injectable()
export class DelayNewsParts {
  @Inject(MAILBOXES) readonly mailboxes!: Mailboxes;
  @Inject(INSTANCE) readonly instance!: string;
  @Inject(LOG) readonly log!: { warn(context: object, message: string): void };
}

/** After so many times in a minute the actor does not take it up: settings differ from process to process. */
const MAX_TIMES = 5;
const PATIENCE_MS = 60_000;
const REMEMBERED_HOSTS = 1000;

@Injectable()
export class DelayNews {
  private readonly told = new LRUCache<string, number>({ max: REMEMBERED_HOSTS, ttl: PATIENCE_MS });

  constructor(private readonly options: DelayNewsParts) {}

  /** True: lanes that know of it will come soon. */
  async tell(host: string, crawlDelayMs: number | null): Promise<boolean> {
    const times = this.told.get(host) ?? 0;
    if (times >= MAX_TIMES) return false;
    this.told.set(host, times + 1, { ttl: this.told.getRemainingTTL(host) || PATIENCE_MS });
    try {
      await this.send(host, {
        type: 'RobotsDone',
        host,
        status: 200,
        ok: true,
        crawlDelayMs,
        sitemaps: [],
        error: null,
      });
      return true;
    } catch (error) {
      this.options.log.warn({ host, err: error }, 'crawl-delay not told to the actor of its host');
      return false;
    }
  }

  private send(host: string, body: RobotsDone): Promise<void> {
    const from = `w/${this.options.instance}` as const;
    const to = actorKey('domain', host);
    return this.options.mailboxes.publishActor({
      id: `d.${randomUUID()}`,
      type: body.type,
      v: 1,
      from,
      to,
      n: null,
      body,
    });
  }
}
