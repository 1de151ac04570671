import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { CancelBoard } from '@troupe/messaging';
import { type JobKind, type Uuid } from '@troupe/contracts';
import { JobCommandRepository, JobRepository } from '@troupe/persistence';
import { type Caller } from '../auth/caller.js';
import { jobFinished } from '../errors/api-error.js';
import { CommandPublisher } from './command-publisher.js';
import { JobStatusService } from './job-status.service.js';
import { PAGE_JOBS, type Cancels, type JobCommands, type JobView } from './ports.js';

/** How long a DELETE waits to see its effect; the cancel itself is recorded before. */
const SETTLE_MS = 2_000;
const POLL_MS = 50;

@Injectable()
export class JobCancelService {
  constructor(
    @Inject(JobStatusService) private readonly status: Pick<JobStatusService, 'findOf'>,
    @Inject(CancelBoard) private readonly cancels: Cancels,
    /** Jobs that fetch pages for another one. */
    @Inject(JobRepository) private readonly children: Pick<JobRepository, 'runningChildren'>,
    @Inject(JobCommandRepository) private readonly jobs: Pick<JobCommands, 'cancel'>,
    @Inject(CommandPublisher) private readonly commands: Pick<CommandPublisher, 'send'>,
  ) {}

  /** Ends a job. Repeating it is fine; 409 when the job has ended by itself. */
  async cancel(caller: Caller, id: Uuid, kinds: readonly JobKind[] = PAGE_JOBS): Promise<void> {
    const job = await this.status.findOf(caller, id, kinds);
    if (job.status === 'cancelled') return;
    if (job.status !== 'scraping') throw jobFinished();
    for (const command of await this.jobs.cancel(job.job, job.kind)) this.commands.send(command);
    await this.stopFetching(job);
    const settled = await this.settle(caller, job);
    if (settled.status === 'completed' || settled.status === 'failed') throw jobFinished();
  }

  /** Fetchers learn of it at once; the job's actor, which ends its children itself, a little later. */
  private async stopFetching({ job, kind, team }: JobView): Promise<void> {
    const fetching = kind === 'extract' ? await this.children.runningChildren(team, job) : [];
    await Promise.all([job, ...fetching].map((id) => this.cancels.cancel(id)));
  }

  private async settle(caller: Caller, asked: JobView): Promise<JobView> {
    const deadlineMs = performance.now() + SETTLE_MS;
    const look = () => this.status.findOf(caller, asked.job, [asked.kind]);
    let job = await look();
    while (job.status === 'scraping' && performance.now() < deadlineMs) {
      await sleep(POLL_MS);
      job = await look();
    }
    return job;
  }
}
