/** State of an extract job: a cursor over the pages of each child, never the pages themselves. */
import type { ActorKey, ExtractSpec, JobEnd, JobNo } from '@troupe/contracts';
import { emptyModelJob, type ModelJobState } from '../model-job.state.js';

/** A job that fetches pages for this one. */
export interface Child {
  /** Its place in the plan; null: it was heard of before the plan was, or is not part of it. */
  place: number | null;
  jobNo: JobNo | null;
  /** Pages that it has stored. */
  upto: number;
  /** First page that was not handed out yet. */
  next: number;
  /** null while it runs. */
  end: (JobEnd & { lost: { pages: number; reason: string } | null }) | null;
}

export interface ExtractState extends ModelJobState<ExtractSpec> {
  stage: 'plan' | 'read' | 'merge' | 'merged';
  children: Record<ActorKey, Child>;
  /** Pages whose facts are recorded, and pages that were given up. */
  read: number;
  givenUp: number;
  /** Why the first page was given up. */
  givenUpReason: string | null;
  /** Reason why a step was given up that every result needs. */
  fatal: string | null;
}

export function emptyExtract(): ExtractState {
  return {
    ...emptyModelJob(),
    stage: 'plan',
    children: {},
    read: 0,
    givenUp: 0,
    givenUpReason: null,
    fatal: null,
  };
}
