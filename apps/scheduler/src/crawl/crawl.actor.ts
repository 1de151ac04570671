import type { ActorDef } from '@troupe/actors';
import type { JobMemory, JobState } from './job.state.js';
import type { Findings } from './findings.js';
import { jobActor, type JobOptions, type JobRules } from './finish.js';

/** `crawl/<job>`: one crawl with its own frontier (S = 1, docs/design/frontier.md, "End"). */
export function crawlActor(options: JobOptions, rules?: JobRules): ActorDef<JobState, JobMemory, Findings> {
  return jobActor('crawl', options, rules);
}
