import { Inject, Injectable } from '@nestjs/common';
import { type Uuid } from '@troupe/contracts';
import { HostRepository, type HostOfJob, type ListPage, type ListRange } from '@troupe/persistence';
import { type Caller } from '../auth/caller.js';
import { JobStatusService } from './job-status.service.js';

@Injectable()
export class JobHostsService {
  constructor(
    @Inject(JobStatusService) private readonly status: Pick<JobStatusService, 'find'>,
    @Inject(HostRepository) private readonly hosts: Pick<HostRepository, 'ofJob'>,
  ) {}

  /** Hosts of the caller's job, worst first. @throws ApiError 404 for unknown, foreign and expired jobs */
  async list(caller: Caller, id: Uuid, range: ListRange): Promise<ListPage<HostOfJob>> {
    const { jobNo } = await this.status.find(caller, id);
    return this.hosts.ofJob(jobNo, range);
  }
}
