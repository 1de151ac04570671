import { Module } from '@nestjs/common';
import { RateCounter } from '@troupe/persistence';
import { onPool } from '../infra/adapters.js';
import { CreditGate } from './credit-gate.js';
import { RateLimits } from './rate-limits.js';
import { RateNews } from './rate-news.js';
import { WorkGate } from './work-gate.js';

@Module({
  providers: [onPool(RateCounter), RateNews, RateLimits, CreditGate, WorkGate],
  exports: [RateLimits, CreditGate, WorkGate],
})
export class LimitsModule {}
