export { createPool, type DatabasePooler, type LivePool, type LivePoolOptions, type PoolOptions } from './pool.js';
export { DatabaseSilentError, Pulse } from './pulse.js';
export { checkPostgres } from './writable.js';
export { connectionAdvice } from './connection-advice.js';
export { examineDatabase, type DatabaseReport } from './database-report.js';
export { createDataSource, dataSourceOn, migrate, poolOf } from './data-source.js';
export { PgActorStore, type PgActorStoreOptions } from './actor-store/pg-actor-store.js';
export { Housekeeping } from './housekeeping.js';
export { Retention } from './retention.js';
export * from './repositories/job.repository.js';
export * from './repositories/job-command.repository.js';
export * from './repositories/ledger.repository.js';
export * from './repositories/lost-jobs.repository.js';
export { AFTER_ALL, type Keyed, type ListKey, type ListPage, type ListRange } from './repositories/list-page.js';
export type { RecordedCommand, Seed } from './repositories/job-writes.js';
export * from './repositories/page-cache.repository.js';
export * from './repositories/census.js';
export * from './repositories/change-history.js';
export * from './repositories/account.repository.js';
export * from './repositories/delivery.repository.js';
export { AuditLog, type AuditAuthor, type AuditEntry, type AuditQuery } from './repositories/audit-log.js';
export * from './repositories/blocked-hosts.js';
export * from './repositories/blocklist.repository.js';
export * from './repositories/dead-letter.repository.js';
export * from './repositories/host.repository.js';
export { HostSettingRepository } from './repositories/host-setting.repository.js';
export { HostSettings, settingOf } from './repositories/host-settings.js';
export * from './repositories/model-steps.js';
export {
  SelectorRecipes,
  type KeptRecipe,
  type RecipeKey,
  type SelectorRecipe,
} from './repositories/selector-recipes.js';
export { OpenItems } from './repositories/open-items.js';
export * from './repositories/rate-counter.js';
export * from './repositories/team-admin.repository.js';
export * from './repositories/team-proxies.js';
export * from './repositories/team-sizes.js';
export * from './repositories/robots-cache.js';
export * from './repositories/scrape.repository.js';
export * from './repositories/usage.repository.js';
export type { BlockedHost, KeyRecord, TeamRecord, TeamSettings } from './entities.js';
export { TeamModelTable } from './repositories/team-models.js';
export { ModelUsage } from './repositories/model-usage.js';
