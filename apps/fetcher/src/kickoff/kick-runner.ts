/**
 * Small work of crawls and hosts: robots.txt, probes, histories, and sitemap files chunk by chunk (docs/design/frontier.md,
 * "Robots and sitemaps").
 */
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
import { publishPatiently } from '@troupe/messaging';
import type { Cancels, Mailboxes, Pauses } from '../ports.js';
import type { RobotsRules } from '../robots/robots-rules.js';
import type { HostProbe } from './host-probe.js';
import type { SitemapKick } from './sitemap-kick.js';

export interface KickParts {
  instance: string;
  mailboxes: Mailboxes;
  cancels: Pick<Cancels, 'isCancelled'>;
  pauses: Pauses;
  robots: Pick<RobotsRules, 'describe'>;
  sitemaps: Pick<SitemapKick, 'read'>;
  probe: Pick<HostProbe, 'run'>;
}

export class KickRunner {
  constructor(private readonly parts: KickParts) {}

  /** Resolves when the actor has the answer; throws to ask for redelivery. */
  async run(kick: Kick, trace?: TraceParent): Promise<void> {
    if (this.#isPaused(kick)) return;
    if (kick.task === 'probe') return this.parts.probe.run(kick);
    if (kick.task === 'robots') return this.#send({ kick, trace }, await this.#robots(kick), 0);
    if (this.parts.cancels.isCancelled(kick.job)) return;
    if (kick.task === 'history') return this.#send({ kick, trace }, await judgedHistory(kick), 0);
    const run = randomUUID();
    for await (const chunk of this.parts.sitemaps.read(kick, trace)) {
      if (this.parts.cancels.isCancelled(kick.job)) return;
      await this.#send({ kick, trace }, chunk, chunk.chunk, run);
    }
  }

  /** Dropped: the job asks again when it goes on. */
  #isPaused({ actor, pauseV }: Kick): boolean {
    return pauseV !== undefined && this.parts.pauses.newsSince(parseActorKey(actor).id, pauseV) !== null;
  }

  async #robots(kick: Extract<Kick, { task: 'robots' }>): Promise<RobotsDone> {
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

  async #send(
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
    await publishPatiently(this.parts.mailboxes, envelope);
  }
}

async function judgedHistory({ part, urls, scope }: Extract<Kick, { task: 'history' }>): Promise<HistoryJudged> {
  const rules = await judgeLinks(scope, urls, 0);
  const links = urls.filter((_, i) => rules[i] === null).map((url) => ({ url, h: fingerprintUrl(url, scope) }));
  return { type: 'HistoryJudged', part, links };
}
