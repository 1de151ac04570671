import {
  type AgentSpec,
  type BatchSpec,
  type CrawlSpec,
  type ExtractSpec,
  inSpan,
  NO_TRACES,
  type Tracer,
  type Uuid,
} from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { ApiError, unavailable } from '../errors/api-error.js';
import { type CreditGate } from '../limits/credit-gate.js';
import { type CommandPublisher } from './command-publisher.js';
import { type Jobs, type Link, type NewJob, type OpenWork } from './ports.js';
import { refuseTooLarge } from './spec-limits.js';
import { type TargetPolicy } from './target-policy.js';
import { type WebhookPolicy } from './webhook-policy.js';

/** What comes with a submit beside the job itself. */
export interface Submission {
  caller: Caller;
  origin: string;
  integration: string | null;
  /** `x-idempotency-key`; null = none. */
  idempotencyKey: string | null;
}

/** A seed of a batch with the politeness key of its host. */
export interface BatchUrl {
  url: string;
  host: string;
}

export interface JobSubmitParts {
  jobs: Pick<Jobs, 'create'>;
  link: Link;
  commands: Pick<CommandPublisher, 'send'>;
  targets: Pick<TargetPolicy, 'check'>;
  webhooks: Pick<WebhookPolicy, 'check'>;
  credits: Pick<CreditGate, 'charge' | 'affordable'>;
  work: OpenWork;
  /** @default nothing is recorded */
  tracer?: Tracer;
}

const DATABASE = { kind: 'client', attributes: { 'db.system.name': 'postgresql' } } as const;
/** Pages that the running jobs of a team may have open before no further job is taken (docs/api/limits.md). */
const MIN_OPEN_PAGES = 50_000;
const OPEN_PAGES_PER_PLACE = 2_000;
const QUEUE_RETRY_S = 60;

export class JobSubmitService {
  constructor(private readonly parts: JobSubmitParts) {}

  /**
   * Resolves with the id when the crawl is durable: job and Start command are committed. Few credits make a short crawl.
   * @throws ApiError 429, 402, TroupeError BAD_REQUEST for wishes that are too large, SCRAPE_TARGET_FORBIDDEN, UNSUPPORTED_SITE, 409 for a used idempotency key
   */
  async startCrawl(asked: CrawlSpec, submission: Submission): Promise<Uuid> {
    refuseTooLarge('crawl', asked);
    await this.checkQueue(submission.caller);
    const spec = { ...asked, limit: await this.parts.credits.affordable(submission.caller, asked.limit) };
    this.parts.targets.check(spec.scope.base);
    return this.submit({
      kind: 'crawl',
      spec,
      originUrl: spec.url,
      wireOptions: asked,
      zdr: spec.scrape.zeroRetention,
      ...ownerOf(submission),
    });
  }

  /** `urls` in the order of their results' identity, repeated ones included. */
  async startBatch(spec: BatchSpec, urls: BatchUrl[], submission: Submission): Promise<Uuid> {
    refuseTooLarge('batch', spec);
    await this.admitBatch(submission.caller, urls.length);
    return this.submit({
      kind: 'batch',
      spec,
      urls,
      originUrl: urls[0]?.url ?? null,
      wireOptions: spec,
      zdr: spec.scrape.zeroRetention,
      ...ownerOf(submission),
    });
  }

  /** What the job costs is known when it has ended; one credit must be there. @throws as `startCrawl` does */
  async startExtract(spec: ExtractSpec, submission: Submission): Promise<Uuid> {
    refuseTooLarge('extract', spec);
    await this.checkQueue(submission.caller);
    await this.parts.credits.charge(submission.caller, 1);
    return this.submit({
      kind: 'extract',
      spec,
      originUrl: spec.urls[0] ?? null,
      wireOptions: { showSources: spec.showSources, webhook: spec.webhook },
      zdr: spec.scrape.zeroRetention,
      ...ownerOf(submission),
    });
  }

  /** As for `startExtract`. The credits of the run are bounded by what the team has left. */
  async startAgent(asked: AgentSpec, maxCredits: number, submission: Submission): Promise<Uuid> {
    refuseTooLarge('agent', asked);
    await this.checkQueue(submission.caller);
    const affordable = await this.parts.credits.affordable(submission.caller, asked.maxCredits ?? maxCredits);
    const { prompt, urls, schema, model, effort } = asked;
    return this.submit({
      kind: 'agent',
      spec: { ...asked, maxCredits: affordable },
      originUrl: urls[0] ?? null,
      wireOptions: { prompt, urls, schema, model, effort, webhook: asked.webhook },
      zdr: asked.scrape.zeroRetention,
      ...ownerOf(submission),
    });
  }

  /** Whether the caller may have so many more URLs of a batch scraped. @throws ApiError 429, 402 */
  async admitBatch(caller: Caller, urls: number): Promise<void> {
    await this.checkQueue(caller);
    await this.parts.credits.charge(caller, urls);
  }

  /** @throws ApiError 429 while the team has as much open as may wait; the job that fills the queue is taken whole */
  private async checkQueue({ team, concurrency }: Caller): Promise<void> {
    const most = Math.max(MIN_OPEN_PAGES, OPEN_PAGES_PER_PLACE * concurrency);
    if ((await this.parts.work.openPages(team)) < most) return;
    throw new ApiError(429, `Rate limit exceeded: ${most} pages of this team are waiting already`, {
      retryAfterS: QUEUE_RETRY_S,
    });
  }

  private async submit(job: NewJob): Promise<Uuid> {
    this.parts.webhooks.check(job.spec.webhook);
    if (!this.parts.link.isUp()) throw unavailable(null);
    const { tracer = NO_TRACES } = this.parts;
    const trace = tracer.active();
    const created = await inSpan(tracer, ['create job', trace, DATABASE], async (span) => {
      const recorded = await this.parts.jobs.create({ ...job, trace });
      span.set({ 'troupe.job': recorded.job, 'troupe.kind': job.kind });
      return recorded;
    });
    this.parts.commands.send(created.command);
    return created.job;
  }
}

function ownerOf({ caller, origin, integration, idempotencyKey }: Submission) {
  return { team: caller.team, keyId: caller.keyId, origin, integration, idempotencyKey };
}
