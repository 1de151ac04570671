/**
 * `extract/<job>`: an extractor plans which pages to read and starts child jobs that fetch them. Each page is read as
 * it arrives. When all are read their facts are merged. The child jobs are ordinary ones, and tell this actor of their
 * pages as they would tell a receiver of webhooks.
 */
import type { ActorDef, Effect } from '@troupe/actors';
import {
  actorKey,
  MERGE_STEP,
  pageStep,
  parseActorKey,
  parsePageStep,
  PLAN_STEP,
  type ActorKey,
  type ChildJob,
  type JobEvent,
  type ModelWork,
  type WorkPriority,
} from '@troupe/contracts';
import { modelJobActor, type Course, type ModelJobMemory, type Move } from '../model-job.actor.js';
import { warn } from '../model-job.state.js';
import type { StepEnd } from '../step-desk.js';
import { emptyExtract, type Child, type ExtractState } from './extract.state.js';

/** Pages of one job that are being read at a time; how many calls a model takes at once is the extractor's concern. */
export const MAX_OPEN_PAGES = 8;
/** Most actors that may write before the plan is known; a plan has no more. */
const MAX_CHILDREN = 200;
const MAX_REASON_CHARS = 300;

export function extractActor(): ActorDef<ExtractState, ModelJobMemory> {
  return modelJobActor(COURSE);
}

const COURSE: Course<ExtractState> = {
  kind: 'extract',
  empty: emptyExtract,
  workOf,
  settle,
  next,
  progress: (state) => ({ total: pagesKnown(state), completed: state.read + state.givenUp }),
  shownEvents: () => 0,
  hearChild,
  closing: (state) => openChildren(state).map(cancelOf),
};

function workOf(state: ExtractState, step: string): { work: ModelWork; prio: WorkPriority } {
  const spec = state.spec!;
  if (step === PLAN_STEP) return { work: { what: 'plan', spec }, prio: 'hi' };
  const page = parsePageStep(step);
  if (page === null) return { work: { what: 'merge', spec }, prio: 'hi' };
  const { jobNo } = planned(state)[page.child]!;
  const work: ModelWork = { what: 'pages', spec, child: page.child, childNo: jobNo!, ords: [page.ord, page.ord] };
  return { work, prio: 'lo' };
}

// ------------------------------------------------------------------------------------------------ what is over

function settle(state: ExtractState, end: StepEnd): void {
  if (parsePageStep(end.step) !== null) return settlePage(state, end);
  if (end.outcome === null) {
    state.fatal = end.error.message;
    return;
  }
  warn(state, end.outcome.warning);
  if (end.outcome.what === 'planned') return adopt(state, end.outcome.children);
  if (end.outcome.what === 'merged') state.stage = 'merged';
}

function settlePage(state: ExtractState, end: StepEnd): void {
  if (end.outcome !== null) {
    state.read += 1;
    return warn(state, end.outcome.warning);
  }
  state.givenUp += 1;
  state.givenUpReason ??= clipped(end.error.message);
}

/** The plan's addresses are dropped: they are not needed any more, and would be carried along with every page. */
function adopt(state: ExtractState, children: readonly ChildJob[]): void {
  state.stage = 'read';
  state.spec = { ...state.spec!, urls: [] };
  children.forEach(({ job, jobNo, kind }, place) => {
    const child = childAt(state, actorKey(kind, job));
    child.place = place;
    child.jobNo = jobNo;
  });
}

function childAt(state: ExtractState, key: ActorKey): Child {
  return (state.children[key] ??= { place: null, jobNo: null, upto: 0, next: 1, end: null });
}

/** A child may have pages before its parent knows of it. A child that is not part of the plan is ended. */
function hearChild(state: ExtractState, from: ActorKey, event: JobEvent): Effect[] {
  if (event.event === 'started') return [];
  const isRunning = state.phase === 'running';
  const mayJoin = isRunning && state.stage === 'plan' && Object.keys(state.children).length < MAX_CHILDREN;
  const child = mayJoin ? childAt(state, from) : state.children[from];
  if (child !== undefined) note(child, event);
  const isWanted = isRunning && child !== undefined && (state.stage === 'plan' || child.place !== null);
  return isWanted || event.event === 'terminal' ? [] : [cancelOf(from)];
}

function note(child: Child, event: Exclude<JobEvent, { event: 'started' }>): void {
  child.upto = Math.max(child.upto, event.uptoOrd);
  if (event.event !== 'terminal') return;
  const { status, error, lost } = event;
  child.end = { status, error: error === null ? null : clipped(error), lost: lost ?? null };
}

// ------------------------------------------------------------------------------------------------ what comes next

function next(state: ExtractState): Move {
  if (state.fatal !== null) return { end: { status: 'failed', error: state.fatal } };
  switch (state.stage) {
    case 'plan':
      return { begin: state.steps[PLAN_STEP] === undefined ? [PLAN_STEP] : [] };
    case 'read':
      return nextPages(state);
    case 'merge':
      return { begin: state.steps[MERGE_STEP] === undefined ? [MERGE_STEP] : [] };
    case 'merged':
      return { end: { status: 'completed', error: null } };
  }
}

function nextPages(state: ExtractState): Move {
  const begin = takePages(state, MAX_OPEN_PAGES - Object.keys(state.steps).length);
  const isRead = begin.length === 0 && Object.keys(state.steps).length === 0;
  const children = planned(state);
  if (!isRead || children.some((child) => child.end === null)) return { begin };
  warn(state, lossOf(children));
  if (state.read === 0) return { end: { status: 'failed', error: whyNothing(state, children) } };
  if (state.givenUp > 0)
    warn(state, `${state.givenUp} of ${pagesKnown(state)} pages could not be read: ${state.givenUpReason}.`);
  state.stage = 'merge';
  return { begin: [MERGE_STEP] };
}

function takePages(state: ExtractState, room: number): string[] {
  const taken: string[] = [];
  planned(state).forEach((child, place) => {
    while (taken.length < room && child.next <= child.upto) taken.push(pageStep(place, child.next++));
  });
  return taken;
}

/** In the order of the plan. */
function planned(state: ExtractState): Child[] {
  const children = Object.values(state.children).filter(({ place }) => place !== null);
  return children.sort((a, b) => a.place! - b.place!);
}

function pagesKnown(state: ExtractState): number {
  return planned(state).reduce((sum, { upto }) => sum + upto, 0);
}

function openChildren(state: ExtractState): ActorKey[] {
  return Object.entries(state.children).flatMap(([key, { end }]) => (end === null ? [key as ActorKey] : []));
}

function cancelOf(key: ActorKey): Effect {
  return { t: 'send', to: key, cls: 'level', msg: { type: 'Cancel', job: parseActorKey(key).id } };
}

// ------------------------------------------------------------------------------------------------ what to say

function lossOf(children: readonly Child[]): string | null {
  const lost = children.flatMap(({ end }) => end?.lost ?? []);
  const failed = children.flatMap(({ end }) => (end !== null && end.status !== 'completed' ? [end] : []));
  const pages = lost.reduce((sum, one) => sum + one.pages, 0);
  const reason = failed[0]?.error ?? lost[0]?.reason;
  if (pages === 0 && failed.length === 0) return null;
  const what = pages === 0 ? 'Some pages' : `${pages} ${pages === 1 ? 'page' : 'pages'}`;
  return `${what} could not be fetched${reason == null ? '' : `: ${reason}`}.`;
}

function whyNothing(state: ExtractState, children: readonly Child[]): string {
  if (state.givenUpReason !== null) return `No page could be read: ${state.givenUpReason}`;
  if (children.length === 0) return 'No page was found to read';
  const reason = children.flatMap(({ end }) => end?.error ?? end?.lost?.reason ?? [])[0];
  return reason === undefined ? 'No page could be fetched' : `No page could be fetched: ${reason}`;
}

function clipped(text: string): string {
  return text.length > MAX_REASON_CHARS ? `${text.slice(0, MAX_REASON_CHARS - 1)}…` : text;
}
