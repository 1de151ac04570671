import { Inject, Injectable } from '@nestjs/common';
import { JobCommandRepository } from '@troupe/persistence';
import { type Uuid } from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { ApiError, jobFinished, jobNotFound } from '../errors/api-error.js';
import { WorkGate } from '../limits/work-gate.js';
import { CommandPublisher } from './command-publisher.js';
import { JobStatusService } from './job-status.service.js';
import { type BatchUrl } from './job-submit.service.js';
import { type JobCommands } from './ports.js';

export const MAX_BATCH_SEEDS = 100_000;
/** A job lives 48 h in all, and appended URLs must have time to be scraped. */
const MAX_AGE_HOURS = 47;

@Injectable()
export class BatchAppendService {
  constructor(
    @Inject(JobStatusService) private readonly status: Pick<JobStatusService, 'find'>,
    @Inject(WorkGate) private readonly gate: Pick<WorkGate, 'charge'>,
    @Inject(JobCommandRepository) private readonly jobs: Pick<JobCommands, 'append'>,
    @Inject(CommandPublisher) private readonly commands: Pick<CommandPublisher, 'ensureUp' | 'send'>,
  ) {}

  /**
   * Resolves when the URLs are durable parts of the batch: its total holds them, and a completed batch is scraping again.
   * @throws ApiError 404 for anything but a batch of the caller, 429 and 402 as for a new batch, 409 when it has failed, was
   *   cancelled or is too old, 400 when it would grow too large; TroupeError 409 when the idempotency key was used
   */
  async append(caller: Caller, job: Uuid, seeds: readonly BatchUrl[], idempotencyKey: string | null): Promise<void> {
    const { kind, jobNo, team } = await this.status.find(caller, job);
    if (kind !== 'batch') throw jobNotFound();
    await this.gate.charge(caller, seeds.length);
    this.commands.ensureUp();
    const limits = { maxSeeds: MAX_BATCH_SEEDS, maxAgeHours: MAX_AGE_HOURS };
    const answer = await this.jobs.append({ job, jobNo, team, seeds, idempotencyKey, ...limits });
    if ('command' in answer) return this.commands.send(answer.command);
    if (answer.refusal === 'ended') throw jobFinished();
    throw answer.refusal === 'old'
      ? new ApiError(409, `URLs can be appended to a batch for ${MAX_AGE_HOURS} hours`)
      : new ApiError(400, `A batch may hold at most ${MAX_BATCH_SEEDS} URLs`, { code: 'BAD_REQUEST' });
  }
}
