import { Module } from '@nestjs/common';
import { AccountsModule } from '../../accounts/accounts.module.js';
import { HttpModule } from '../../http/http.module.js';
import { V2Module } from '../v2/v2.module.js';
import { BatchV1Controller } from './batch.controller.js';
import { CrawlV1Controller } from './crawl.controller.js';
import { ExtractV1Controller } from './extract.controller.js';
import { MapV1Controller } from './map.controller.js';
import { ScrapeV1Controller } from './scrape.controller.js';
import { SearchV1Controller } from './search.controller.js';
import { UsageV1Controller } from './usage.controller.js';
import { ValidationModule } from '../validation/validation.module.js';

@Module({
  imports: [AccountsModule, HttpModule, V2Module, ValidationModule],
  controllers: [
    ScrapeV1Controller,
    CrawlV1Controller,
    BatchV1Controller,
    MapV1Controller,
    SearchV1Controller,
    ExtractV1Controller,
    UsageV1Controller,
  ],
})
export class V1Module {}
