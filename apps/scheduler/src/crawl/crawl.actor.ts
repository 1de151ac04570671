import type { ActorDef } from '@troupe/actors';
import type { JobMemory, JobState } from './job.state.js';
import type { Findings } from './findings.js';
import { pageJobActor } from './page-job.actor.js';
import type { JobOptions, JobRules } from './rules.js';

/** `crawl/<job>`: one crawl with its own frontier (S = 1, docs/design/frontier.md, "End"). */
export function crawlActor(options: JobOptions, rules?: JobRules): ActorDef<JobState, JobMemory, Findings> {
  return pageJobActor('crawl', options, rules);
}
