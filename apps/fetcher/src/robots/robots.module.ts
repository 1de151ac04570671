import { Module } from '@nestjs/common';
import { RobotsCache } from '@troupe/persistence';
import { ROBOTS_LOOKUP, ROBOTS_STORE } from '../cluster/ports.js';
import { POOL, type Pool } from '../cluster/stores.js';
import { SlotsModule } from '../slots/slots.module.js';
import { RobotsJudge } from './robots-judge.js';
import { RobotsRules, RobotsRulesParts } from './robots-rules.js';

@Module({
  imports: [SlotsModule],
  providers: [
    RobotsJudge,
    RobotsRules,
    RobotsRulesParts,
    { provide: ROBOTS_LOOKUP, useExisting: RobotsRules },
    { provide: ROBOTS_STORE, useFactory: (pool: Pool) => new RobotsCache(pool), inject: [POOL] },
  ],
  exports: [RobotsJudge, RobotsRules, ROBOTS_LOOKUP],
})
export class RobotsModule {}
