/**
 * Entities as TypeORM schema objects instead of decorated classes: plain data, so that importing them loads nothing.
 * Tables that only turns touch have no entity; their rows are `RowOp`s of the contracts.
 */
import type { EntitySchemaOptions } from 'typeorm';
import { ApiKeyEntity, TeamEntity } from './account.entity.js';
import { IdempotencyEntity, JobEntity, JobErrorEntity, JobIdEntity } from './job.entity.js';
import { CreditLedgerEntity, ScrapeLogEntity } from './scrape.entity.js';

export const ENTITIES = [
  JobEntity,
  JobIdEntity,
  JobErrorEntity,
  IdempotencyEntity,
  TeamEntity,
  ApiKeyEntity,
  CreditLedgerEntity,
  ScrapeLogEntity,
] as EntitySchemaOptions<unknown>[];
