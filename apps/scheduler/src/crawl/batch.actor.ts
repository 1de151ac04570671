import type { ActorDef } from '@troupe/actors';
import type { JobMemory, JobState } from './job.state.js';
import type { Findings } from './findings.js';
import { pageJobActor } from './page-job.actor.js';
import type { JobOptions, JobRules } from './rules.js';

/** `batch/<job>`: a fixed list of URLs; no discovery, no robots, every occurrence its own item. */
export function batchActor(options: JobOptions, rules?: JobRules): ActorDef<JobState, JobMemory, Findings> {
  return pageJobActor('batch', options, rules);
}
