/** State of an agent's run: how far it is, never what it has seen. */
import type { AgentSpec } from '@troupe/contracts';
import { emptyModelJob, type ModelJobState } from '../model-job.state.js';

export interface AgentState extends ModelJobState<AgentSpec> {
  /** Moves that are recorded. */
  done: number;
  answered: boolean;
  /** A move was given up: why. */
  fatal: string | null;
}

export function emptyAgent(): AgentState {
  return { ...emptyModelJob(), done: 0, answered: false, fatal: null };
}
