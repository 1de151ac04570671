import { Module } from '@nestjs/common';
import { ActorBus, Rpc } from '@troupe/messaging';
import { ModelSteps } from '@troupe/persistence';
import { overNats, overPostgres } from '@troupe/service';

const STEPS = [...overNats(ActorBus, Rpc), ...overPostgres(ModelSteps)];

/** Where steps are recorded, who is told of them, and what they ask other services. */
@Module({ providers: STEPS, exports: STEPS })
export class StepsModule {}
