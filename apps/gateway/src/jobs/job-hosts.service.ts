import { type Uuid } from '@troupe/contracts';
import { type HostOfJob, type HostRepository, type ListPage, type ListRange } from '@troupe/persistence';
import { type Caller } from '../auth/caller.js';
import { type JobStatusService } from './job-status.service.js';

export interface JobHostsParts {
  status: Pick<JobStatusService, 'find'>;
  hosts: Pick<HostRepository, 'ofJob'>;
}

export class JobHostsService {
  constructor(private readonly parts: JobHostsParts) {}

  /** Hosts of the caller's job, worst first. @throws ApiError 404 for unknown, foreign and expired jobs */
  async list(caller: Caller, id: Uuid, range: ListRange): Promise<ListPage<HostOfJob>> {
    const { jobNo } = await this.parts.status.find(caller, id);
    return this.parts.hosts.ofJob(jobNo, range);
  }
}
