import { Inject, Injectable } from '@nestjs/common';
import { PauseBoard } from '@troupe/messaging';
import { JobCommandRepository } from '@troupe/persistence';
import { type Uuid } from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { jobFinished, jobNotFound } from '../errors/api-error.js';
import { CommandPublisher } from './command-publisher.js';
import { JobStatusService } from './job-status.service.js';
import { type JobCommands, type Pauses } from './ports.js';

@Injectable()
export class CrawlPauseService {
  constructor(
    @Inject(JobStatusService) private readonly status: Pick<JobStatusService, 'find'>,
    @Inject(JobCommandRepository) private readonly jobs: Pick<JobCommands, 'setPaused'>,
    @Inject(PauseBoard) private readonly pauses: Pauses,
    @Inject(CommandPublisher) private readonly commands: Pick<CommandPublisher, 'ensureUp' | 'send'>,
  ) {}

  /**
   * Resolves when the change is durable and on its way to every fetcher. Repeating it is fine.
   * @throws ApiError 404 for anything but a crawl of the caller, 409 when it is over
   */
  async setPaused(caller: Caller, id: Uuid, paused: boolean): Promise<void> {
    const { jobs, status, pauses, commands } = this;
    const { kind, jobNo } = await status.find(caller, id);
    if (kind !== 'crawl') throw jobNotFound();
    commands.ensureUp();
    const recorded = await jobs.setPaused(id, jobNo, paused);
    if (recorded === null) throw jobFinished();
    if (recorded.command !== null) commands.send(recorded.command);
    await pauses.put(id, recorded.news);
  }
}
