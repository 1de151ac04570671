import type { MigrationInterface } from 'typeorm';
import { Cache1763950006000 } from './1763950006000-cache.js';
import { InitialSchema1763683200000 } from './1763683200000-initial-schema.js';
import { Webhooks1763950001000 } from './1763950001000-webhooks.js';
import { Accounts1763950003000 } from './1763950003000-accounts.js';
import { JobCalls1763950005000 } from './1763950005000-job-calls.js';
import { TeamProxies1763950008000 } from './1763950008000-team-proxies.js';
import { Models1763950009000 } from './1763950009000-models.js';
import { BrowserItems1763950010000 } from './1763950010000-browser-items.js';
import { CacheSites1763950012000 } from './1763950012000-cache-sites.js';
import { TrackedPages1763950014000 } from './1763950014000-tracked-pages.js';
import { ActorCompression1763950016000 } from './1763950016000-actor-compression.js';
import { AuditActors1763950027000 } from './1763950027000-audit-actors.js';
import { Hosts1764000000000 } from './1764000000000-hosts.js';
import { SafeTurns1764000100000 } from './1764000100000-safe-turns.js';
import { JobStarts1764000200000 } from './1764000200000-job-starts.js';
import { PagedLists1764000400000 } from './1764000400000-paged-lists.js';
import { RestartTimes1764000500000 } from './1764000500000-restart-times.js';

export const MIGRATIONS_TABLE = 'schema_migration';

/** Forward only, oldest first. A name ends in the milliseconds of its writing: TypeORM orders by them. */
export const MIGRATIONS: readonly (new () => MigrationInterface)[] = [
  InitialSchema1763683200000,
  Webhooks1763950001000,
  Accounts1763950003000,
  JobCalls1763950005000,
  Cache1763950006000,
  TeamProxies1763950008000,
  Models1763950009000,
  BrowserItems1763950010000,
  CacheSites1763950012000,
  TrackedPages1763950014000,
  ActorCompression1763950016000,
  AuditActors1763950027000,
  Hosts1764000000000,
  SafeTurns1764000100000,
  JobStarts1764000200000,
  PagedLists1764000400000,
  RestartTimes1764000500000,
];
