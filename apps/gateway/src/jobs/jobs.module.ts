import { Module } from '@nestjs/common';
import { DeliveryRepository, LedgerRepository, ModelSteps, ScrapeRepository } from '@troupe/persistence';
import { overPostgres } from '@troupe/service';
import { LimitsModule } from '../limits/limits.module.js';
import { BatchAppendService } from './batch-append.service.js';
import { CommandPublisher } from './command-publisher.js';
import { CrawlExplainService } from './crawl-explain.service.js';
import { CrawlPauseService } from './crawl-pause.service.js';
import { CrawlWishesService } from './crawl-wishes.service.js';
import { DeliveriesService } from './deliveries.service.js';
import { JobCancelService } from './job-cancel.service.js';
import { JobFeeds } from './job-feeds.js';
import { JobHostsService } from './job-hosts.service.js';
import { JobLedgerService } from './job-ledger.service.js';
import { JobStatusService } from './job-status.service.js';
import { JobSubmitService } from './job-submit.service.js';
import { LostDocuments } from './lost-documents.js';
import { MapService } from './map.service.js';
import { ModelJobs } from './model-jobs.service.js';
import { PageBytes } from './page-bytes.js';
import { RemoteCalls } from './remote-calls.js';
import { ResultRuns } from './result-runs.js';
import { ScrapeArchive } from './scrape-archive.js';
import { ScrapeService } from './scrape.service.js';
import { ScrapedDocuments } from './scraped-documents.js';
import { TargetPolicy } from './target-policy.js';
import { TeamTokens } from './team-tokens.js';
import { UsageLog } from './usage-log.js';
import { WebhookPolicy } from './webhook-policy.js';

/** Services that other modules ask for. */
const SERVICES = [
  BatchAppendService,
  CrawlExplainService,
  CrawlPauseService,
  CrawlWishesService,
  DeliveriesService,
  JobCancelService,
  JobHostsService,
  JobLedgerService,
  JobStatusService,
  JobSubmitService,
  MapService,
  ModelJobs,
  ScrapeService,
  ScrapedDocuments,
  TargetPolicy,
  TeamTokens,
  UsageLog,
];

@Module({
  imports: [LimitsModule],
  providers: [
    ...overPostgres(DeliveryRepository, LedgerRepository, ModelSteps, ScrapeRepository),
    CommandPublisher,
    JobFeeds,
    LostDocuments,
    PageBytes,
    RemoteCalls,
    ResultRuns,
    ScrapeArchive,
    WebhookPolicy,
    ...SERVICES,
  ],
  exports: SERVICES,
})
export class JobsModule {}
