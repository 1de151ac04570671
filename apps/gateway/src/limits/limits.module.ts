import { Module } from '@nestjs/common';
import { RateCounter } from '@troupe/persistence';
import { overPostgres } from '@troupe/service';
import { CreditGate } from './credit-gate.js';
import { RateLimits } from './rate-limits.js';
import { RateNews } from './rate-news.js';
import { WorkGate } from './work-gate.js';

@Module({
  providers: [...overPostgres(RateCounter), RateNews, RateLimits, CreditGate, WorkGate],
  exports: [RateLimits, CreditGate, WorkGate],
})
export class LimitsModule {}
