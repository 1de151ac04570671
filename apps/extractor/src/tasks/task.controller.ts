import { Controller, Inject } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import type { ModelTask } from '@troupe/contracts';
import { TaskRunner, type TaskEnd } from './task-runner.js';

/** Steps taken at a time: most of their time they wait for the provider, which has a limit of its own. */
const AT_ONCE = { maxInFlight: 32 };

@Controller()
export class TaskController {
  constructor(@Inject(TaskRunner) private readonly runner: TaskRunner) {}

  /** Steps on which the rest of a job waits. */
  @EventPattern('work.llm.hi', AT_ONCE)
  first(@Payload() task: ModelTask): Promise<TaskEnd> {
    return this.runner.run(task);
  }

  /** One page of many. */
  @EventPattern('work.llm.lo', AT_ONCE)
  next(@Payload() task: ModelTask): Promise<TaskEnd> {
    return this.runner.run(task);
  }
}
