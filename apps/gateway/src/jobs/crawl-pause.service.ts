import { type Uuid } from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { jobFinished, jobNotFound, unavailable } from '../errors/api-error.js';
import { type CommandPublisher } from './command-publisher.js';
import { type JobStatusService } from './job-status.service.js';
import { type JobCommands, type Link, type Pauses } from './ports.js';

export interface CrawlPauseParts {
  status: Pick<JobStatusService, 'find'>;
  jobs: Pick<JobCommands, 'setPaused'>;
  link: Link;
  /** Fetchers look at it before each request. */
  pauses: Pauses;
  commands: Pick<CommandPublisher, 'send'>;
}

export class CrawlPauseService {
  constructor(private readonly parts: CrawlPauseParts) {}

  /**
   * Resolves when the change is durable and on its way to every fetcher. Repeating it is fine.
   * @throws ApiError 404 for anything but a crawl of the caller, 409 when it is over
   */
  async setPaused(caller: Caller, id: Uuid, paused: boolean): Promise<void> {
    const { jobs, status, link, pauses, commands } = this.parts;
    const { kind, jobNo } = await status.find(caller, id);
    if (kind !== 'crawl') throw jobNotFound();
    if (!link.isUp()) throw unavailable(null);
    const recorded = await jobs.setPaused(id, jobNo, paused);
    if (recorded === null) throw jobFinished();
    if (recorded.command !== null) commands.send(recorded.command);
    await pauses.put(id, recorded.news);
  }
}
