import { Module } from '@nestjs/common';
import { AccountsModule } from '../../accounts/accounts.module.js';
import { HttpModule } from '../../http/http.module.js';
import { JobsModule } from '../../jobs/jobs.module.js';
import { SearchModule } from '../../search/search.module.js';
import { AgentController } from './agent.controller.js';
import { BatchCall } from './batch.call.js';
import { BatchController } from './batch.controller.js';
import { CrawlCall } from './crawl.call.js';
import { CrawlController } from './crawl.controller.js';
import { DeliveriesController } from './deliveries.controller.js';
import { ExplainController } from './explain.controller.js';
import { ExtractCall } from './extract.call.js';
import { ExtractController } from './extract.controller.js';
import { HostsController } from './hosts.controller.js';
import { LedgerController } from './ledger.controller.js';
import { MapCall } from './map.call.js';
import { MapController } from './map.controller.js';
import { PageJobCalls } from './page-job.calls.js';
import { ParamsPreviewController } from './params-preview.controller.js';
import { PauseController } from './pause.controller.js';
import { ScrapeCall } from './scrape.call.js';
import { ScrapeController } from './scrape.controller.js';
import { SearchCall } from './search.call.js';
import { SearchController } from './search.controller.js';
import { StatusSender } from './status-sender.js';
import { UsageController } from './usage.controller.js';
import { ValidationModule } from '../validation/validation.module.js';

/** The calls that v1 makes too, with its bodies translated. */
const CALLS = [ScrapeCall, CrawlCall, BatchCall, ExtractCall, MapCall, SearchCall, PageJobCalls, StatusSender];

@Module({
  imports: [AccountsModule, HttpModule, JobsModule, SearchModule, ValidationModule],
  controllers: [
    // Routes are tried in this order. Scrapes come first because their callers wait.
    ScrapeController,
    BatchController,
    CrawlController,
    ExtractController,
    MapController,
    SearchController,
    ExplainController,
    ParamsPreviewController,
    PauseController,
    LedgerController,
    HostsController,
    DeliveriesController,
    AgentController,
    UsageController,
  ],
  providers: CALLS,
  exports: [...CALLS, SearchModule],
})
export class V2Module {}
