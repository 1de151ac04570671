import { Inject, Injectable } from '@nestjs/common';
import { LedgerRepository } from '@troupe/persistence';
import { type JobNo, type Uuid } from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { jobNotFound } from '../errors/api-error.js';
import { JobStatusService } from './job-status.service.js';
import { type Ledger, type LedgerQuery, type Ledgers } from './ports.js';

export interface JobLedger extends Ledger {
  jobNo: JobNo;
}

@Injectable()
export class JobLedgerService {
  constructor(
    @Inject(JobStatusService) private readonly status: Pick<JobStatusService, 'find'>,
    @Inject(LedgerRepository) private readonly ledgers: Ledgers,
  ) {}

  /** The outcome of each URL of the caller's job. @throws ApiError 404 for unknown, foreign and expired ones */
  async read(caller: Caller, id: Uuid, query: LedgerQuery): Promise<JobLedger> {
    const { jobNo } = await this.status.find(caller, id);
    const ledger = await this.ledgers.read(jobNo, query);
    if (ledger === null) throw jobNotFound();
    return { jobNo, ...ledger };
  }
}
