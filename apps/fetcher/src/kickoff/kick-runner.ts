/**
 * Small work of crawls and hosts: robots.txt, probes, histories, and sitemap files chunk by chunk (docs/design/frontier.md,
 * "Robots and sitemaps").
 */
import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import {
  parseActorKey,
  type ActorMessage,
  type HistoryJudged,
  type Kick,
  type RobotsDone,
  type SitemapChunk,
  type TraceParent,
} from '@troupe/contracts';
import { fingerprintUrl, hostKey } from '@troupe/frontier';
import { judgeLinks } from '@troupe/judging';
import { publishWithRetry } from '@troupe/messaging';
import { INSTANCE } from '@troupe/service';
import { CANCELS, MAILBOXES, PAUSES, type Cancels, type Mailboxes, type Pauses } from '../cluster/ports.js';
import { RobotsRules } from '../robots/robots-rules.js';
import { HostProbe } from './host-probe.js';
import { SitemapKick } from './sitemap-kick.js';

@Injectable()
export class KickParts {
  @Inject(INSTANCE) readonly instance!: string;
  @Inject(MAILBOXES) readonly mailboxes!: Mailboxes;
  @Inject(CANCELS) readonly cancels!: Pick<Cancels, 'isCancelled'>;
  @Inject(PAUSES) readonly pauses!: Pauses;
  @Inject(RobotsRules) readonly robots!: Pick<RobotsRules, 'describe'>;
  @Inject(SitemapKick) readonly sitemaps!: Pick<SitemapKick, 'read'>;
  @Inject(HostProbe) readonly probe!: Pick<HostProbe, 'run'>;
}

@Injectable()
export class KickRunner {
  constructor(private readonly parts: KickParts) {}

  /** Resolves when the actor has the answer; throws to ask for redelivery. */
  async run(kick: Kick, trace?: TraceParent): Promise<void> {
    if (this.isPaused(kick)) return;
    if (kick.task === 'probe') return this.parts.probe.run(kick);
    if (kick.task === 'robots') return this.send({ kick, trace }, await this.robots(kick), 0);
    if (this.parts.cancels.isCancelled(kick.job)) return;
    if (kick.task === 'history') return this.send({ kick, trace }, await judgedHistory(kick), 0);
    const run = randomUUID();
    for await (const chunk of this.parts.sitemaps.read(kick, trace)) {
      if (this.parts.cancels.isCancelled(kick.job)) return;
      await this.send({ kick, trace }, chunk, chunk.chunk, run);
    }
  }

  /** True: the work is dropped, and the job asks again when it goes on. */
  private isPaused({ actor, pauseV }: Kick): boolean {
    return pauseV !== undefined && this.parts.pauses.newsSince(parseActorKey(actor).id, pauseV) !== null;
  }

  private async robots(kick: Extract<Kick, { task: 'robots' }>): Promise<RobotsDone> {
    const { file, isAnswer, status, error, retryMs } = await this.parts.robots.describe(kick.url);
    return {
      type: 'RobotsDone',
      host: kick.host === '' ? hostKey(kick.url) : kick.host,
      status,
      ok: isAnswer,
      retryAfterMs: retryMs,
      crawlDelayMs: file.crawlDelayMs(kick.agent),
      sitemaps: [...file.sitemaps],
      error: error === null ? null : { code: error.code, message: error.message },
    };
  }

  private async send(
    { kick, trace }: { kick: Kick; trace: TraceParent | undefined },
    body: RobotsDone | SitemapChunk | HistoryJudged,
    part: number,
    run: string = randomUUID(),
  ): Promise<void> {
    const from = `w/${this.parts.instance}` as const;
    const envelope = {
      id: `k.${run}.${part}`,
      type: body.type,
      v: 1,
      from,
      to: kick.actor,
      n: null,
      body: body as ActorMessage,
      trace,
    };
    await publishWithRetry(this.parts.mailboxes, envelope);
  }
}

async function judgedHistory({ part, urls, scope }: Extract<Kick, { task: 'history' }>): Promise<HistoryJudged> {
  const rules = await judgeLinks(scope, urls, 0);
  const links = urls.filter((_, i) => rules[i] === null).map((url) => ({ url, h: fingerprintUrl(url, scope) }));
  return { type: 'HistoryJudged', part, links };
}
