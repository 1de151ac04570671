import { Module } from '@nestjs/common';
import { ActorBus, Rpc } from '@troupe/messaging';
import { ModelSteps } from '@troupe/persistence';
import { overNats, overPostgres } from '@troupe/service';

const STEPS = [...overNats(ActorBus, Rpc), ...overPostgres(ModelSteps)];

/** The record of steps, the messages to their jobs, and the questions they ask other services. */
@Module({ providers: STEPS, exports: STEPS })
export class StepsModule {}
