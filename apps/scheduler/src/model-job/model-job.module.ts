import { Module } from '@nestjs/common';
import { CONFIG, type Config } from '@troupe/service';
import { agentActor } from './agent/agent.actor.js';
import { extractActor } from './extract/extract.actor.js';

/** The actors of jobs that work with a model. */
export const MODEL_JOB_ACTORS = Symbol('actors of model jobs');

@Module({
  providers: [
    {
      provide: MODEL_JOB_ACTORS,
      inject: [CONFIG],
      useFactory: ({ agentMaxCredits }: Config) => [extractActor(), agentActor({ maxCredits: agentMaxCredits })],
    },
  ],
  exports: [MODEL_JOB_ACTORS],
})
export class ModelJobModule {}
