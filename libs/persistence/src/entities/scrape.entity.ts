import type { Uuid } from '@troupe/contracts';
import type { EntitySchemaOptions } from 'typeorm';

/** One line per finished sync scrape: what it cost. `day` counts from 2024-01-01 and names the partition. */
export interface ScrapeLog {
  id: Uuid;
  day: number;
  teamId: Uuid;
  keyId: Uuid | null;
  at: Date;
  url: string;
  status: number;
  credits: number;
  ms: number;
}

export const ScrapeLogEntity: EntitySchemaOptions<ScrapeLog> = {
  name: 'ScrapeLog',
  tableName: 'scrape_log',
  columns: {
    id: { type: 'uuid', primary: true },
    day: { type: 'int', primary: true },
    teamId: { name: 'team_id', type: 'uuid' },
    keyId: { name: 'key_id', type: 'uuid', nullable: true },
    at: { type: 'timestamptz' },
    url: { type: 'text' },
    status: { type: 'smallint' },
    credits: { type: 'int' },
    ms: { type: 'int' },
  },
};

/** Credits of a job, cumulative: a replay writes the same number again. */
export interface CreditLedger {
  teamId: Uuid;
  jobNo: string;
  kind: string;
  keyId: Uuid | null;
  credits: number;
  at: Date;
}

export const CreditLedgerEntity: EntitySchemaOptions<CreditLedger> = {
  name: 'CreditLedger',
  tableName: 'credit_ledger',
  columns: {
    teamId: { name: 'team_id', type: 'uuid', primary: true },
    jobNo: { name: 'job_no', type: 'bigint', primary: true },
    kind: { type: 'text', primary: true },
    keyId: { name: 'key_id', type: 'uuid', nullable: true },
    credits: { type: 'int' },
    at: { type: 'timestamptz' },
  },
};
