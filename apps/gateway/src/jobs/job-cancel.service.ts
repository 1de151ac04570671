import { type JobKind, type Uuid } from '@troupe/contracts';
import type { JobRepository } from '@troupe/persistence';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Caller } from '../auth/caller.js';
import { jobFinished } from '../errors/api-error.js';
import { type CommandPublisher } from './command-publisher.js';
import { type JobStatusService } from './job-status.service.js';
import { PAGE_JOBS, type Cancels, type JobCommands, type JobView } from './ports.js';

/** How long a DELETE waits to see its effect; the cancel itself is recorded before. */
const SETTLE_MS = 2_000;
const POLL_MS = 50;

export interface JobCancelParts {
  status: Pick<JobStatusService, 'findOf'>;
  cancels: Cancels;
  /** Jobs that fetch pages for another one. */
  children: Pick<JobRepository, 'runningChildren'>;
  jobs: Pick<JobCommands, 'cancel'>;
  commands: Pick<CommandPublisher, 'send'>;
}

export class JobCancelService {
  constructor(private readonly parts: JobCancelParts) {}

  /** Ends a job. Repeating it is fine; 409 when the job has ended by itself. */
  async cancel(caller: Caller, id: Uuid, kinds: readonly JobKind[] = PAGE_JOBS): Promise<void> {
    const job = await this.parts.status.findOf(caller, id, kinds);
    if (job.status === 'cancelled') return;
    if (job.status !== 'scraping') throw jobFinished();
    for (const command of await this.parts.jobs.cancel(job.job, job.kind)) this.parts.commands.send(command);
    await this.stopFetching(job);
    const settled = await this.settle(caller, job);
    if (settled.status === 'completed' || settled.status === 'failed') throw jobFinished();
  }

  /** Fetchers learn of it at once; the job's actor, which ends its children itself, a little later. */
  private async stopFetching({ job, kind, team }: JobView): Promise<void> {
    const fetching = kind === 'extract' ? await this.parts.children.runningChildren(team, job) : [];
    await Promise.all([job, ...fetching].map((id) => this.parts.cancels.cancel(id)));
  }

  private async settle(caller: Caller, asked: JobView): Promise<JobView> {
    const deadlineMs = performance.now() + SETTLE_MS;
    const look = () => this.parts.status.findOf(caller, asked.job, [asked.kind]);
    let job = await look();
    while (job.status === 'scraping' && performance.now() < deadlineMs) {
      await sleep(POLL_MS);
      job = await look();
    }
    return job;
  }
}
