/** The common state of jobs that work with a model; the course of each kind keeps more beside it. */
import type { AgentSpec, ExtractSpec, JobNo, JobStatus, Uuid } from '@troupe/contracts';

/** A step that was handed to the extractors and is not over. */
export interface OpenStep {
  /** Number of the newest attempt. */
  attempt: number;
  /** Times it was handed out in a row without a word from an extractor. */
  unheard: number;
  /** An extractor works on it, as far as is known. */
  inWork: boolean;
  /** Attempts that ended badly: a passing error, or silence in the middle of the work. */
  failures: number;
  /** The newest attempt waits for its time to be handed out. */
  waiting: boolean;
  /** Newest failed attempt whose tokens were counted; 0: none. */
  counted: number;
}

export interface ModelJobState<Spec extends ExtractSpec | AgentSpec = ExtractSpec | AgentSpec> {
  /**
   * - `idle`: no Start yet. `running`: steps are handed out.
   * - `closing`: the client sees a terminal status; jobs that it began are being ended. `over`: terminal.
   */
  phase: 'idle' | 'running' | 'closing' | 'over';
  /** It was cancelled before its start came. @default false */
  cancelled?: boolean;
  job: Uuid;
  jobNo: JobNo;
  team: Uuid;
  keyId: Uuid | null;
  createdMs: number;
  spec: Spec | null;
  /** By name. A step that is not here was never begun or is over for good, as its course knows. */
  steps: Record<string, OpenStep>;
  tokens: number;
  /** Credits for the pages that steps had scraped themselves. */
  pageCredits: number;
  status: JobStatus;
  error: string | null;
  /** Distinct, in the order of their coming, few. */
  warnings: string[];
  /** Newest of its events that the delivery actor was told of; -1: not even the start. Unused without a webhook. */
  told: number;
}

export function emptyModelJob(): ModelJobState<never> {
  return {
    phase: 'idle',
    job: '',
    jobNo: '0',
    team: '',
    keyId: null,
    createdMs: 0,
    spec: null,
    steps: {},
    tokens: 0,
    pageCredits: 0,
    status: 'scraping',
    error: null,
    warnings: [],
    told: -1,
  };
}

const MAX_WARNINGS = 12;
const MAX_WARNING_CHARS = 500;

/** Adds a warning. Repeats, and warnings beyond the room, are left out. */
export function warn(state: ModelJobState, warning: string | null | undefined): void {
  if (warning === null || warning === undefined || warning === '') return;
  const text = warning.length > MAX_WARNING_CHARS ? `${warning.slice(0, MAX_WARNING_CHARS - 1)}…` : warning;
  if (state.warnings.length < MAX_WARNINGS && !state.warnings.includes(text)) state.warnings.push(text);
}
