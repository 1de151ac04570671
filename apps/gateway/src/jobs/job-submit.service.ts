import { type BatchSpec, type CrawlSpec, type Uuid } from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { unavailable } from '../errors/api-error.js';
import { type CommandPublisher } from './command-publisher.js';
import { type Jobs, type Link, type NewJob } from './ports.js';
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
}

export class JobSubmitService {
  constructor(private readonly parts: JobSubmitParts) {}

  /** Resolves with the id when the crawl is durable: job and Start command are committed. */
  startCrawl(spec: CrawlSpec, submission: Submission): Promise<Uuid> {
    this.parts.targets.check(spec.scope.base);
    return this.submit({ kind: 'crawl', spec, originUrl: spec.url, wireOptions: spec, ...ownerOf(submission) });
  }

  /** `urls` in the order of their results' identity, repeated ones included. */
  startBatch(spec: BatchSpec, urls: BatchUrl[], submission: Submission): Promise<Uuid> {
    return this.submit({
      kind: 'batch',
      spec,
      urls,
      originUrl: urls[0]?.url ?? null,
      wireOptions: spec,
      ...ownerOf(submission),
    });
  }

  private async submit(job: NewJob): Promise<Uuid> {
    this.parts.webhooks.check(job.spec.webhook);
    if (!this.parts.link.isUp()) throw unavailable(null);
    const created = await this.parts.jobs.create(job);
    this.parts.commands.send(created.command);
    return created.job;
  }
}

function ownerOf({ caller, origin, integration, idempotencyKey }: Submission) {
  return { team: caller.team, keyId: caller.keyId, origin, integration, idempotencyKey, zdr: false as const };
}
