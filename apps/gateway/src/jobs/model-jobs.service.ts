/** Jobs that work with a language model, as their clients see them: one result at the end instead of pages. */
import { Inject, Injectable } from '@nestjs/common';
import { type Uuid } from '@troupe/contracts';
import { JobRepository, ModelSteps, type ExtractResult } from '@troupe/persistence';
import { type Caller } from '../auth/caller.js';
import { ApiError } from '../errors/api-error.js';
import { JobCancelService } from './job-cancel.service.js';
import { JobStatusService } from './job-status.service.js';
import { type AgentRun, type Jobs, type JobView } from './ports.js';

export interface ModelJob {
  job: JobView;
  /** null unless the job is completed. */
  result: ExtractResult | null;
}

export type ModelJobKind = 'extract' | 'agent';

const NOT_FOUND: Record<ModelJobKind, string> = {
  extract: 'Extract job not found',
  agent: 'Agent job not found',
};

const FINISHED: Record<ModelJobKind, string> = {
  extract: 'Job already finished',
  agent: 'Agent already finished',
};

@Injectable()
export class ModelJobs {
  constructor(
    @Inject(JobStatusService) private readonly status: Pick<JobStatusService, 'findOf'>,
    @Inject(JobCancelService) private readonly cancels: Pick<JobCancelService, 'cancel'>,
    @Inject(ModelSteps) private readonly steps: Pick<ModelSteps, 'resultOf'>,
    @Inject(JobRepository) private readonly jobs: Pick<Jobs, 'agentRuns'>,
  ) {}

  /** @throws ApiError 404, also for expired jobs and those of other teams */
  async find(caller: Caller, id: Uuid, kind: ModelJobKind): Promise<ModelJob> {
    const job = await known(kind, this.status.findOf(caller, id, [kind]));
    const result = job.status === 'completed' ? await this.steps.resultOf(job.jobNo) : null;
    return { job, result };
  }

  /** Started before `before`, newest first. */
  agentRuns(caller: Caller, before: Date, limit: number): Promise<{ runs: AgentRun[]; hasMore: boolean }> {
    return this.jobs.agentRuns(caller.team, before, limit);
  }

  /** Repeating it is fine. @throws ApiError 404; 409 when the job has ended by itself */
  async cancel(caller: Caller, id: Uuid, kind: ModelJobKind): Promise<void> {
    await known(kind, this.cancels.cancel(caller, id, [kind]));
  }
}

async function known<T>(kind: ModelJobKind, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) throw new ApiError(404, NOT_FOUND[kind]);
    if (error instanceof ApiError && error.status === 409) throw new ApiError(409, FINISHED[kind]);
    throw error;
  }
}
