import { Module } from '@nestjs/common';
import { RobotsCache, type LivePool } from '@troupe/persistence';
import { POOL } from '@troupe/service';
import { ROBOTS_LOOKUP, ROBOTS_STORE } from '../cluster/ports.js';
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
    { provide: ROBOTS_STORE, useFactory: (pool: LivePool) => new RobotsCache(pool), inject: [POOL] },
  ],
  exports: [RobotsJudge, RobotsRules, ROBOTS_LOOKUP],
})
export class RobotsModule {}
