import { randomUUID } from 'node:crypto';
import { actorKey, type Uuid } from '@troupe/contracts';
import type { JobRepository } from '@troupe/persistence';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Caller } from '../auth/caller.js';
import { jobFinished } from '../errors/api-error.js';
import { type JobStatusService } from './job-status.service.js';
import { type Cancels, type JobView, type Publisher } from './ports.js';

/** How long a DELETE waits to see its effect; the cancel itself is durable from the start. */
const SETTLE_MS = 2_000;
const POLL_MS = 50;

export interface JobCancelParts {
  status: Pick<JobStatusService, 'find'>;
  cancels: Cancels;
  /** Jobs that fetch pages for another one. */
  children: Pick<JobRepository, 'runningChildren'>;
  publisher: Publisher;
  instance: string;
}

export class JobCancelService {
  constructor(private readonly parts: JobCancelParts) {}

  /** Ends a job. Repeating it is fine; 409 when the job has ended by itself. */
  async cancel(caller: Caller, id: Uuid): Promise<void> {
    const job = await this.parts.status.find(caller, id);
    if (job.status === 'cancelled') return;
    if (job.status !== 'scraping') throw jobFinished();
    await Promise.all([this.stopFetching(job), this.publish(job)]);
    const settled = await this.settle(caller, id);
    if (settled.status === 'completed' || settled.status === 'failed') throw jobFinished();
  }

  /** Fetchers learn of it at once; the job's actor, which ends its children itself, a little later. */
  private async stopFetching({ job, kind, team }: JobView): Promise<void> {
    const fetching = kind === 'extract' ? await this.parts.children.runningChildren(team, job) : [];
    await Promise.all([job, ...fetching].map((id) => this.parts.cancels.cancel(id)));
  }

  private publish({ job, kind }: JobView): Promise<void> {
    return this.parts.publisher.publishActor({
      id: `c.${randomUUID()}`,
      type: 'Cancel',
      v: 1,
      from: `gw/${this.parts.instance}`,
      to: actorKey(kind, job),
      n: null,
      body: { type: 'Cancel', job },
    });
  }

  private async settle(caller: Caller, id: Uuid): Promise<JobView> {
    const deadlineMs = performance.now() + SETTLE_MS;
    let job = await this.parts.status.find(caller, id);
    while (job.status === 'scraping' && performance.now() < deadlineMs) {
      await sleep(POLL_MS);
      job = await this.parts.status.find(caller, id);
    }
    return job;
  }
}
