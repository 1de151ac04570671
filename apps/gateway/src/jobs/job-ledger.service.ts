import { type JobNo, type Uuid } from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { jobNotFound } from '../errors/api-error.js';
import { type JobStatusService } from './job-status.service.js';
import { type Ledger, type LedgerQuery, type Ledgers } from './ports.js';

export interface JobLedger extends Ledger {
  jobNo: JobNo;
}

export interface JobLedgerParts {
  status: Pick<JobStatusService, 'find'>;
  ledgers: Ledgers;
}

export class JobLedgerService {
  constructor(private readonly parts: JobLedgerParts) {}

  /** What became of the URLs of the caller's job. @throws ApiError 404 for unknown, foreign and expired ones */
  async read(caller: Caller, id: Uuid, query: LedgerQuery): Promise<JobLedger> {
    const { jobNo } = await this.parts.status.find(caller, id);
    const ledger = await this.parts.ledgers.read(jobNo, query);
    if (ledger === null) throw jobNotFound();
    return { jobNo, ...ledger };
  }
}
