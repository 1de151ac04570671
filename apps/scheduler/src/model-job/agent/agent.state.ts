/** State of an agent's run: its position, never its observations. */
import type { AgentSpec } from '@troupe/contracts';
import { emptyModelJob, type ModelJobState } from '../model-job.state.js';

export interface AgentState extends ModelJobState<AgentSpec> {
  /** Moves that are recorded. */
  done: number;
  answered: boolean;
  /** Reason why a move was given up. */
  fatal: string | null;
}

export function emptyAgent(): AgentState {
  return { ...emptyModelJob(), done: 0, answered: false, fatal: null };
}
