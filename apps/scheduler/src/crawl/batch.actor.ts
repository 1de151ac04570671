import type { ActorDef } from '@troupe/actors';
import type { JobMemory, JobState } from './job.state.js';
import type { Findings } from './findings.js';
import { jobActor, type JobOptions, type JobRules } from './finish.js';

/** `batch/<job>`: a fixed list of URLs; no discovery, no robots, every occurrence its own item. */
export function batchActor(options: JobOptions, rules?: JobRules): ActorDef<JobState, JobMemory, Findings> {
  return jobActor('batch', options, rules);
}
