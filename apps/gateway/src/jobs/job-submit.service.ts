import { Inject, Injectable } from '@nestjs/common';
import {
  type AgentSpec,
  type BatchSpec,
  type CrawlSpec,
  type ExtractSpec,
  inSpan,
  type Tracer,
  type Uuid,
} from '@troupe/contracts';
import { JobRepository } from '@troupe/persistence';
import { TRACER } from '@troupe/service';
import { type Caller } from '../auth/caller.js';
import { WorkGate } from '../limits/work-gate.js';
import { CommandPublisher } from './command-publisher.js';
import { type Jobs, type NewJob } from './ports.js';
import { refuseTooLarge } from './spec-limits.js';
import { TargetPolicy } from './target-policy.js';
import { WebhookPolicy } from './webhook-policy.js';

/** Facts of a submit beside the job itself. */
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

const DATABASE = { kind: 'client', attributes: { 'db.system.name': 'postgresql' } } as const;

@Injectable()
export class JobSubmitService {
  constructor(
    @Inject(JobRepository) private readonly jobs: Pick<Jobs, 'create'>,
    @Inject(CommandPublisher) private readonly commands: Pick<CommandPublisher, 'ensureUp' | 'send'>,
    @Inject(TargetPolicy) private readonly targets: Pick<TargetPolicy, 'check'>,
    @Inject(WebhookPolicy) private readonly webhooks: Pick<WebhookPolicy, 'check'>,
    @Inject(WorkGate) private readonly gate: Pick<WorkGate, 'charge' | 'affordable'>,
    @Inject(TRACER) private readonly tracer: Tracer,
  ) {}

  /**
   * Resolves with the id when the crawl is durable: job and Start command are committed. Few credits make a short crawl.
   * @throws ApiError 429, 402, TroupeError BAD_REQUEST for wishes that are too large, SCRAPE_TARGET_FORBIDDEN, UNSUPPORTED_SITE, 409 for a used idempotency key
   */
  async startCrawl(asked: CrawlSpec, submission: Submission): Promise<Uuid> {
    refuseTooLarge('crawl', asked);
    const spec = { ...asked, limit: await this.gate.affordable(submission.caller, asked.limit) };
    this.targets.check(spec.scope.base);
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
    await this.gate.charge(submission.caller, urls.length);
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

  /** The price of the job is known when it has ended; one credit must be there. @throws as `startCrawl` does */
  async startExtract(spec: ExtractSpec, submission: Submission): Promise<Uuid> {
    refuseTooLarge('extract', spec);
    await this.gate.charge(submission.caller, 1);
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
    const affordable = await this.gate.affordable(submission.caller, asked.maxCredits ?? maxCredits);
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

  private async submit(job: NewJob): Promise<Uuid> {
    this.webhooks.check(job.spec.webhook);
    this.commands.ensureUp();
    const trace = this.tracer.active();
    const created = await inSpan(this.tracer, ['create job', trace, DATABASE], async (span) => {
      const recorded = await this.jobs.create({ ...job, trace });
      span.set({ 'troupe.job': recorded.job, 'troupe.kind': job.kind });
      return recorded;
    });
    this.commands.send(created.command);
    return created.job;
  }
}

function ownerOf({ caller, origin, integration, idempotencyKey }: Submission) {
  return { team: caller.team, keyId: caller.keyId, origin, integration, idempotencyKey };
}
