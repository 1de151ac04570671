import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { type TroupeConfig } from '@troupe/config';
import { type Logger } from '@troupe/observability';
import { HealthController } from './api/health.controller.js';
import { GoneController, NotOfferedController } from './api/not-offered.controller.js';
import { BatchController } from './api/v2/batch.controller.js';
import { CrawlController } from './api/v2/crawl.controller.js';
import { DeliveriesController } from './api/v2/deliveries.controller.js';
import { MapController } from './api/v2/map.controller.js';
import { ScrapeController } from './api/v2/scrape.controller.js';
import { Accounts } from './auth/accounts.js';
import { ApiKeyGuard } from './auth/api-key.guard.js';
import { ApiExceptionFilter } from './errors/api-exception.filter.js';
import { Readiness } from './health/readiness.js';
import { DeliveriesService } from './jobs/deliveries.service.js';
import { JobCancelService } from './jobs/job-cancel.service.js';
import { JobStatusService } from './jobs/job-status.service.js';
import { JobSubmitService } from './jobs/job-submit.service.js';
import { MapService } from './jobs/map.service.js';
import { PageBytes } from './jobs/page-bytes.js';
import { ScrapeService } from './jobs/scrape.service.js';
import { TargetPolicy } from './jobs/target-policy.js';
import { SETTINGS } from './settings.js';

/** What the process has built and connected before Nest comes in. */
export interface GatewayParts {
  config: Readonly<TroupeConfig>;
  log: Logger;
  accounts: Accounts;
  readiness: Readiness;
  scrapes: ScrapeService;
  maps: MapService;
  submit: JobSubmitService;
  status: JobStatusService;
  cancel: JobCancelService;
  deliveries: DeliveriesService;
  pages: PageBytes;
  targets: TargetPolicy;
}

@Module({})
export class GatewayModule {
  static of(parts: GatewayParts): DynamicModule {
    return {
      module: GatewayModule,
      // The order of routes: literals of calls that are not offered stand before the ids they would be taken for.
      controllers: [
        // Routes are tried in this order, and scrapes are the ones in a hurry.
        ScrapeController,
        HealthController,
        GoneController,
        NotOfferedController,
        BatchController,
        CrawlController,
        DeliveriesController,
        MapController,
      ],
      providers: providersOf(parts),
    };
  }
}

function providersOf(parts: GatewayParts): Provider[] {
  return [
    { provide: SETTINGS.config, useValue: parts.config },
    { provide: SETTINGS.log, useValue: parts.log },
    { provide: Accounts, useValue: parts.accounts },
    { provide: Readiness, useValue: parts.readiness },
    { provide: ScrapeService, useValue: parts.scrapes },
    { provide: MapService, useValue: parts.maps },
    { provide: JobSubmitService, useValue: parts.submit },
    { provide: JobStatusService, useValue: parts.status },
    { provide: JobCancelService, useValue: parts.cancel },
    { provide: DeliveriesService, useValue: parts.deliveries },
    { provide: PageBytes, useValue: parts.pages },
    { provide: TargetPolicy, useValue: parts.targets },
    { provide: APP_GUARD, useClass: ApiKeyGuard },
    { provide: APP_FILTER, useFactory: (log: Logger) => new ApiExceptionFilter(log), inject: [SETTINGS.log] },
  ];
}
