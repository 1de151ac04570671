import { RPC } from '@troupe/contracts';
import type { RunningService, ServiceContext } from '@troupe/observability';
import { listen, type Config } from '@troupe/service';
import { ExtractorModule } from './extractor.module.js';
import { TaskRunner } from './tasks/task-runner.js';

const EXPECTED = ['work.llm.hi', 'work.llm.lo', RPC.pageModel, RPC.crawlOptions];

export function startExtractor(context: ServiceContext<Config>): Promise<RunningService> {
  return listen(ExtractorModule.of(context), context, {
    expects: EXPECTED,
    activatesTraces: true,
    draining: TaskRunner,
  });
}
