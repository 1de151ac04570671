import { Inject, Module, type DynamicModule, type OnApplicationShutdown } from '@nestjs/common';
import type { Tracer } from '@troupe/contracts';
import { ActorBus, CancelBoard, NatsLink } from '@troupe/messaging';
import type { ServiceContext } from '@troupe/observability';
import { ModelSteps } from '@troupe/persistence';
import { INSTANCE, ServiceModule, TRACER, type Config } from '@troupe/service';
import { ActHandler } from './agent/act.handler.js';
import { AgentModule } from './agent/agent.module.js';
import { ExtractModule } from './extract/extract.module.js';
import { MergeHandler } from './extract/merge.handler.js';
import { PagesHandler } from './extract/pages.handler.js';
import { PlanHandler } from './extract/plan.handler.js';
import { PagesModule } from './pages/pages.module.js';
import { StepsModule } from './tasks/steps.module.js';
import { TaskController } from './tasks/task.controller.js';
import { TaskRunner, type TaskHandlers } from './tasks/task-runner.js';

const NEEDS = { poolSize: 8, blobs: true, member: 'extractor' };

/** Handlers by the kind of their steps. */
const HANDLERS = Symbol('handlers of steps');

/** The extractor: work that needs a language model. */
@Module({
  imports: [PagesModule, ExtractModule, AgentModule, StepsModule],
  controllers: [TaskController],
  providers: [
    {
      provide: HANDLERS,
      inject: [PlanHandler, PagesHandler, MergeHandler, ActHandler],
      useFactory: (plan: PlanHandler, pages: PagesHandler, merge: MergeHandler, act: ActHandler): TaskHandlers => ({
        plan,
        pages,
        merge,
        act,
      }),
    },
    {
      provide: CancelBoard,
      inject: [NatsLink],
      useFactory: async (link: NatsLink) => {
        const cancels = new CancelBoard(link);
        await cancels.start();
        return cancels;
      },
    },
    {
      provide: TaskRunner,
      inject: [INSTANCE, ModelSteps, ActorBus, CancelBoard, HANDLERS, TRACER],
      useFactory: (...[instance, steps, mailboxes, cancels, handlers, tracer]: RunnerNeeds) =>
        new TaskRunner({ instance, steps, mailboxes, cancels, handlers, tracer }),
    },
  ],
})
export class ExtractorModule implements OnApplicationShutdown {
  static of(context: ServiceContext<Config>): DynamicModule {
    return { module: ExtractorModule, imports: [ServiceModule.with(context, NEEDS)] };
  }

  constructor(@Inject(CancelBoard) private readonly cancels: CancelBoard) {}

  onApplicationShutdown(): Promise<void> {
    return this.cancels.stop();
  }
}

type RunnerNeeds = [string, ModelSteps, ActorBus, CancelBoard, TaskHandlers, Tracer];
