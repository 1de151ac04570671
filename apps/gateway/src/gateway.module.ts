import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { type TroupeConfig } from '@troupe/config';
import { type Logger } from '@troupe/observability';
import { AuditLog, BlocklistRepository, TeamAdminRepository, UsageRepository } from '@troupe/persistence';
import { AccountController } from './api/account.controller.js';
import { AdminGuard } from './api/admin/admin.guard.js';
import { AdminHostsController } from './api/admin/hosts.controller.js';
import { AdminRecordsController } from './api/admin/records.controller.js';
import { AdminTeamsController } from './api/admin/teams.controller.js';
import { ArtifactsController } from './api/artifacts.controller.js';
import { HealthController } from './api/health.controller.js';
import { GoneController, NotOfferedController } from './api/not-offered.controller.js';
import { RateLimitGuard } from './api/rate-limit.guard.js';
import { UsageV1Controller } from './api/v1/usage.controller.js';
import { BatchV1Controller } from './api/v1/batch.controller.js';
import { CrawlV1Controller } from './api/v1/crawl.controller.js';
import { ExtractV1Controller } from './api/v1/extract.controller.js';
import { MapV1Controller } from './api/v1/map.controller.js';
import { ScrapeV1Controller } from './api/v1/scrape.controller.js';
import { SearchV1Controller } from './api/v1/search.controller.js';
import { AgentController } from './api/v2/agent.controller.js';
import { BatchController } from './api/v2/batch.controller.js';
import { CrawlController } from './api/v2/crawl.controller.js';
import { DeliveriesController } from './api/v2/deliveries.controller.js';
import { ExplainController } from './api/v2/explain.controller.js';
import { ExtractController } from './api/v2/extract.controller.js';
import { HostsController } from './api/v2/hosts.controller.js';
import { LedgerController } from './api/v2/ledger.controller.js';
import { MapController } from './api/v2/map.controller.js';
import { ParamsPreviewController } from './api/v2/params-preview.controller.js';
import { PauseController } from './api/v2/pause.controller.js';
import { ScrapeController } from './api/v2/scrape.controller.js';
import { SearchController } from './api/v2/search.controller.js';
import { WatchServer } from './api/watch/watch.server.js';
import { UsageController } from './api/v2/usage.controller.js';
import { AccountService } from './accounts/account.service.js';
import { DeadLettersService } from './admin/dead-letters.service.js';
import { HostsService } from './admin/hosts.service.js';
import { ArtifactService } from './artifacts/artifact.service.js';
import { Accounts } from './auth/accounts.js';
import { ApiKeyGuard } from './auth/api-key.guard.js';
import { ApiExceptionFilter } from './errors/api-exception.filter.js';
import { Readiness } from './health/readiness.js';
import { HeavyReads } from './http/heavy-reads.js';
import { DeliveriesService } from './jobs/deliveries.service.js';
import { BatchAppendService } from './jobs/batch-append.service.js';
import { CrawlExplainService } from './jobs/crawl-explain.service.js';
import { CrawlWishesService } from './jobs/crawl-wishes.service.js';
import { CrawlPauseService } from './jobs/crawl-pause.service.js';
import { JobCancelService } from './jobs/job-cancel.service.js';
import { JobHostsService } from './jobs/job-hosts.service.js';
import { JobLedgerService } from './jobs/job-ledger.service.js';
import { JobStatusService } from './jobs/job-status.service.js';
import { JobSubmitService } from './jobs/job-submit.service.js';
import { MapService } from './jobs/map.service.js';
import { ModelJobs } from './jobs/model-jobs.service.js';
import { ScrapeService } from './jobs/scrape.service.js';
import { SearchService } from './search/search.service.js';
import { TargetPolicy } from './jobs/target-policy.js';
import { RateLimits } from './limits/rate-limits.js';
import { SETTINGS } from './settings.js';

export { serveDocs } from './api/openapi/serve-docs.js';
export { createStatusLane } from './api/status-lane.js';

/** What the process has built and connected before Nest comes in. */
export interface GatewayParts {
  config: Readonly<TroupeConfig>;
  log: Logger;
  accounts: Accounts;
  readiness: Readiness;
  scrapes: ScrapeService;
  maps: MapService;
  searches: SearchService;
  submit: JobSubmitService;
  status: JobStatusService;
  cancel: JobCancelService;
  deliveries: DeliveriesService;
  appends: BatchAppendService;
  pauses: CrawlPauseService;
  ledgers: JobLedgerService;
  jobHosts: JobHostsService;
  explains: CrawlExplainService;
  modelJobs: ModelJobs;
  crawlWishes: CrawlWishesService;
  targets: TargetPolicy;
  /** null: `RATE_LIMITS=off`. */
  rateLimits: RateLimits | null;
  account: AccountService;
  artifacts: ArtifactService;
  admin: AdminParts;
}

export interface AdminParts {
  teams: TeamAdminRepository;
  usage: UsageRepository;
  audit: AuditLog;
  blocklist: BlocklistRepository;
  deadLetters: DeadLettersService;
  hosts: HostsService;
}

/** Providers too: the controllers of v1 translate their bodies and hand them over. */
const V2_CONTROLLERS = [BatchController, CrawlController, ExtractController, MapController, SearchController];

@Module({})
export class GatewayModule {
  static of(parts: GatewayParts): DynamicModule {
    return {
      module: GatewayModule,
      controllers: [
        // Routes are tried in this order, and scrapes are the ones in a hurry.
        ScrapeController,
        ScrapeV1Controller,
        HealthController,
        ...V2_CONTROLLERS,
        ExplainController,
        PauseController,
        LedgerController,
        HostsController,
        CrawlV1Controller,
        BatchV1Controller,
        MapV1Controller,
        SearchV1Controller,
        ParamsPreviewController,
        ExplainController,
        PauseController,
        LedgerController,
        ExtractV1Controller,
        AgentController,
        AccountController,
        UsageController,
        UsageV1Controller,
        ArtifactsController,
        AdminTeamsController,
        AdminHostsController,
        AdminRecordsController,
        // Last: what is offered wins.
        GoneController,
        NotOfferedController,
        DeliveriesController,
      ],
      providers: [...providersOf(parts), ScrapeController, ...V2_CONTROLLERS],
    };
  }
}

function providersOf(parts: GatewayParts): Provider[] {
  return [
    { provide: SETTINGS.config, useValue: parts.config },
    { provide: SETTINGS.log, useValue: parts.log },
    { provide: Accounts, useValue: parts.accounts },
    { provide: HeavyReads, useValue: new HeavyReads() },
    { provide: Readiness, useValue: parts.readiness },
    { provide: ScrapeService, useValue: parts.scrapes },
    { provide: MapService, useValue: parts.maps },
    { provide: SearchService, useValue: parts.searches },
    { provide: JobSubmitService, useValue: parts.submit },
    { provide: JobStatusService, useValue: parts.status },
    { provide: JobCancelService, useValue: parts.cancel },
    WatchServer,
    { provide: DeliveriesService, useValue: parts.deliveries },
    { provide: BatchAppendService, useValue: parts.appends },
    { provide: CrawlPauseService, useValue: parts.pauses },
    { provide: JobLedgerService, useValue: parts.ledgers },
    { provide: JobHostsService, useValue: parts.jobHosts },
    { provide: CrawlExplainService, useValue: parts.explains },
    { provide: ModelJobs, useValue: parts.modelJobs },
    { provide: CrawlWishesService, useValue: parts.crawlWishes },
    { provide: TargetPolicy, useValue: parts.targets },
    { provide: AccountService, useValue: parts.account },
    { provide: ArtifactService, useValue: parts.artifacts },
    ...adminProviders(parts.admin),
    // In this order: who calls, then how often.
    { provide: APP_GUARD, useClass: ApiKeyGuard },
    ...rateLimitProviders(parts.rateLimits),
    { provide: APP_FILTER, useFactory: (log: Logger) => new ApiExceptionFilter(log), inject: [SETTINGS.log] },
  ];
}

function rateLimitProviders(limits: RateLimits | null): Provider[] {
  if (limits === null) return [];
  return [
    { provide: RateLimits, useValue: limits },
    { provide: APP_GUARD, useClass: RateLimitGuard },
  ];
}

function adminProviders({ teams, usage, audit, blocklist, deadLetters, hosts }: AdminParts): Provider[] {
  return [
    AdminGuard,
    { provide: TeamAdminRepository, useValue: teams },
    { provide: UsageRepository, useValue: usage },
    { provide: AuditLog, useValue: audit },
    { provide: BlocklistRepository, useValue: blocklist },
    { provide: DeadLettersService, useValue: deadLetters },
    { provide: HostsService, useValue: hosts },
  ];
}
