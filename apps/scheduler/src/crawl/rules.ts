/**
 * Settings that a job gets from its process, and its decisive checks by name. The simulation plants a wrong check and
 * proves that it is caught.
 */
import type { PageResult } from '@troupe/contracts';
import { CLAIM_RULES, type ClaimRules } from '@troupe/politeness';
import { isDone } from './completion.js';
import type { JobMemory, JobState } from './job.state.js';

export interface JobOptions {
  /** Agent name matched against robots.txt. */
  robotsAgent: string;
  limitCountsFailed: boolean;
}

export interface JobRules {
  isInFlight(memory: JobMemory, page: PageResult, lane: number): boolean;
  isDone(state: JobState): boolean;
  claims: ClaimRules;
}

/**
 * A result that asks for another try counts only from the lane that has the item. From an earlier lane it is a repeat
 * of one that was taken in. A final result counts from any lane.
 */
function isInFlight(memory: JobMemory, page: PageResult, lane: number): boolean {
  const found = memory.inflight.get(page.item);
  return found !== undefined && (!page.retryable || found.lane === lane);
}

export const JOB_RULES: JobRules = {
  isInFlight,
  isDone,
  claims: CLAIM_RULES,
};
