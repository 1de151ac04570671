/**
 * `delivery/<job>`: tells the receiver of a job's webhook what happened, at least once each and in the promised order:
 * the start is attempted before any page, the end after the first attempt at every page (docs/api/webhooks.md).
 *
 * It holds a cursor, not a queue: pages are events by their ordinals, and only failed ones are kept by number. Every
 * run that is out has a timer, so that a lost message or a dead dispatcher costs time, never an event.
 */
import {
  NOTHING_PLANNED,
  type ActorDef,
  type Activation,
  type Effect,
  type Incoming,
  type TurnContext,
} from '@troupe/actors';
import {
  endEventOf,
  eventAt,
  isDelivered,
  numbersOf,
  placeOf,
  spansOf,
  splitSpans,
  START_EVENT,
  type ActorKey,
  type EventPlace,
  type JobEvent,
  type Post,
  type PostDone,
  type PostResult,
  type Replay,
  type Span,
  type WebhookEvent,
} from '@troupe/contracts';
import { emptyDelivery, type DeliveryState, type Due, type Run } from './delivery.state.js';

export interface DeliveryOptions {
  /** Pauses before the second and further attempts, ms; an event that fails after the last one is dead. */
  retryMs: readonly number[];
}

/** Runs of one job that are out at once; each is posted five events at a time (20 in all). */
export const MAX_RUNS = 4;
const RUN_EVENTS = 100;
/** A run that no dispatcher has taken up is handed over again after this, then twice as long, … */
const QUEUE_PATIENCE_MS = 20_000;
const MAX_PATIENCE_MS = 900_000;
/** The dispatcher reports at least every five seconds on a running run. */
const SILENCE_MS = 15_000;
/** A run that was handed back again and again is not handed over more often than that, unless its receiver rests for longer. */
const MAX_WAIT_MS = 60_000;
/** Older events are dead. */
const STALE_MS = 24 * 3_600_000;
/** Exactness of the age of an event. */
const AGE_MARK_MS = 30 * 60_000;
/** Failures within this part of their pause are tried again together. */
const JOINED_PART = 1 / 20;
/** Failed events are kept as spans; beyond this many, new pages wait until some are delivered or dead. */
const MAX_WAITING_SPANS = 2_000;
/** Room for replays on top of that. */
const MAX_REPLAYED_SPANS = 4_000;
const REPLAYS_REMEMBERED = 16;

export function deliveryActor(options: DeliveryOptions): ActorDef<DeliveryState, null> {
  return {
    kind: 'delivery',
    version: 1,
    vital: [],
    wakesOn: ['Replay', 'JobEvent'],
    restarts: false,
    keepsTrace: true,
    init: emptyDelivery,
    need: () => null,
    remember: () => null,
    plan: () => NOTHING_PLANNED,
    finish: (activation, batch, _answers, ctx) => new DeliveryTurn(activation, options, ctx).run(batch),
    isTerminal: (state) => state.phase === 'over',
    fail: () => [],
  };
}

class DeliveryTurn {
  private readonly key: ActorKey;
  private readonly state: DeliveryState;
  private readonly effects: Effect[] = [];

  constructor(
    activation: Activation<DeliveryState, null>,
    private readonly options: DeliveryOptions,
    private readonly ctx: TurnContext,
  ) {
    this.key = activation.key;
    this.state = activation.state;
  }

  run(batch: readonly Incoming[]): Effect[] {
    for (const { body } of batch) this.apply(body);
    if (this.state.phase === 'idle') return this.effects;
    this.handOver();
    this.state.phase = this.isOver() ? 'over' : 'open';
    return this.effects;
  }

  private apply(body: Incoming['body']): void {
    switch (body.type) {
      case 'JobEvent':
        return this.jobEvent(body);
      case 'PostDone':
        return this.postDone(body);
      case 'Replay':
        return this.replay(body);
      case 'Timer':
        return this.timer(body.name);
      // The rest is for other actors.
      default:
    }
  }

  private jobEvent(event: JobEvent): void {
    const { state } = this;
    if (event.event === 'started') {
      const { job, jobNo, team, kind, webhook } = event;
      Object.assign(state, { phase: 'open', job, jobNo, team, kind, webhook });
      return this.noteAge();
    }
    state.known = Math.max(state.known, event.uptoOrd);
    switch (event.event) {
      case 'pages':
        return this.noteAge();
      case 'mark':
        state.marks = { ...state.marks, [state.ends.length]: event.name };
        return this.between(event.name);
      case 'terminal':
        state.end = { status: event.status, error: storedText(event.error) };
        return this.between(event.status);
    }
  }

  /** An event that is no page. It comes after the known ones. */
  private between(status: WebhookEvent): void {
    const { state } = this;
    state.ends.push(state.known);
    this.noteAge();
    const eventNo = endEventOf(state.ends, state.ends.length - 1);
    this.effects.push({ t: 'row', row: { op: 'delivery.end', jobNo: state.jobNo, eventNo, status } });
  }

  /** Events that are open by now are not older than now. */
  private noteAge(): void {
    const { state, ctx } = this;
    const ages = (state.ages ??= []);
    const last = ages.at(-1);
    const upto = this.lastEvent();
    if (last !== undefined && ctx.now - last.since < AGE_MARK_MS) Object.assign(last, { upto, at: ctx.now });
    else ages.push({ upto, at: ctx.now, since: ctx.now });
    while (ages[1] !== undefined && ages[1].at <= ctx.now - STALE_MS) ages.shift();
  }

  /** The newest event that is dead by its age, -1 = none. */
  private staleUpTo(): number {
    const { state, ctx } = this;
    return state.ages?.findLast(({ at }) => at <= ctx.now - STALE_MS)?.upto ?? -1;
  }

  // ---------------------------------------------------------------------------------------------- results

  /** An event is out in one run at a time, so (event, attempt) says which result counts, whichever run it came from. */
  private postDone(done: PostDone): void {
    const results = new Map(done.results.map((result) => [result.eventNo, result]));
    for (const [no, run] of Object.entries(this.state.runs)) {
      if (run.attempt !== done.attempt) continue;
      const out = [...numbersOf(run.events)];
      const left = out.filter((eventNo) => !results.has(eventNo));
      if (left.length === out.length && Number(no) !== done.run) continue;
      this.settle(
        out.flatMap((eventNo) => results.get(eventNo) ?? []),
        run,
      );
      const isHandedBack = Number(no) === done.run && done.waitMs !== undefined;
      if (left.length < out.length) delete run.waits;
      this.heard(no, run, spansOf(left), isHandedBack ? this.pauseOf(run, done.waitMs!) : null);
    }
  }

  /** A run that finds no place again and again asks less often. */
  private pauseOf(run: Run, waitMs: number): number {
    const waits = (run.waits = (run.waits ?? 0) + 1);
    return Math.max(waitMs, Math.min(MAX_WAIT_MS, waitMs * 2 ** (waits - 1)));
  }

  /** @param waitMs until the rest is handed over again, null while a dispatcher works on it */
  private heard(no: string, run: Run, left: Span[], waitMs: number | null): void {
    if (left.length === 0) {
      delete this.state.runs[no];
      this.effects.push({ t: 'timer', name: `run.${no}`, inMs: null });
      return;
    }
    run.events = left;
    run.sends = waitMs === null ? 1 : 0;
    this.effects.push({ t: 'timer', name: `run.${no}`, inMs: waitMs ?? SILENCE_MS });
  }

  private settle(results: PostResult[], { attempt, isReplay }: Run): void {
    const staleUpTo = isReplay ? -1 : this.staleUpTo();
    const pauseMs = this.options.retryMs[attempt - 1];
    const failed: number[] = [];
    for (const result of results) {
      const final = isDelivered(result) || pauseMs === undefined || result.eventNo <= staleUpTo;
      if (!final) failed.push(result.eventNo);
      const { jobNo } = this.state;
      this.effects.push({ t: 'row', row: { op: 'delivery.attempt', jobNo, attempt, final, ...result } });
    }
    if (failed.length > 0) this.tryLater(failed, attempt + 1, pauseMs!);
  }

  private tryLater(events: number[], attempt: number, pauseMs: number): void {
    const { retries } = this.state;
    const open = Object.values(retries).find((group) => group.attempt === attempt && group.openUntil > this.ctx.now);
    if (open !== undefined) {
      open.events = spansOf([...numbersOf(open.events), ...events]);
      return;
    }
    const no = this.state.nextNo++;
    const joinedMs = pauseMs * JOINED_PART;
    retries[no] = { attempt, events: spansOf(events), openUntil: this.ctx.now + joinedMs };
    this.effects.push({ t: 'timer', name: `retry.${no}`, inMs: pauseMs + joinedMs });
  }

  private timer(name: string): void {
    const { runs, retries, due } = this.state;
    const [what, no = ''] = name.split('.');
    const run = runs[no];
    if (what === 'run' && run !== undefined) {
      delete runs[no];
      this.send(run, run.sends + 1, run.waits);
    }
    const group = retries[no];
    if (what === 'retry' && group !== undefined) {
      delete retries[no];
      due.push({ attempt: group.attempt, events: group.events });
    }
  }

  /** Events that are out or waiting get their further attempts anyway. */
  private replay({ id, groups }: Replay): void {
    const { state } = this;
    if (state.phase === 'idle' || state.replays.includes(id)) return;
    state.replays = [...state.replays, id].slice(-REPLAYS_REMEMBERED);
    const pending = new Set(this.pending());
    for (const { attempt, events } of groups) {
      const room = MAX_REPLAYED_SPANS - this.waitingSpans();
      const wanted = [...numbersOf(events)].filter((eventNo) => eventNo < state.next && !pending.has(eventNo));
      const taken = spansOf(wanted).slice(0, Math.max(0, room));
      if (taken.length === 0) continue;
      state.due.push({ attempt, events: taken, isReplay: true });
      for (const eventNo of numbersOf(taken)) {
        pending.add(eventNo);
        const row = { op: 'delivery.reopen' as const, jobNo: state.jobNo, eventNo, attempt: attempt - 1 };
        this.effects.push({ t: 'row', row });
      }
    }
  }

  private *pending(): Generator<number> {
    const { runs, retries, due } = this.state;
    for (const { events } of [...Object.values(runs), ...Object.values(retries), ...due]) yield* numbersOf(events);
  }

  private waitingSpans(): number {
    const { retries, due } = this.state;
    return [...Object.values(retries), ...due].reduce((sum, { events }) => sum + events.length, 0);
  }

  // ---------------------------------------------------------------------------------------------- hand over

  private handOver(): void {
    while (Object.keys(this.state.runs).length < MAX_RUNS) {
      const run = this.nextRun();
      if (run === null) return;
      this.send(run, 1);
    }
  }

  /** One run is kept for second attempts: they must not starve behind a job that goes on for hours. */
  private nextRun(): Due | null {
    const isRetrying = Object.values(this.state.runs).some(({ attempt }) => attempt > 1);
    const retry = isRetrying ? null : this.takeDue();
    return retry ?? this.takeNew() ?? this.takeDue();
  }

  private takeDue(): Due | null {
    const { due } = this.state;
    const first = due[0];
    if (first === undefined) return null;
    const [events, rest] = splitSpans(first.events, RUN_EVENTS);
    if (rest.length === 0) due.shift();
    else first.events = rest;
    return { ...first, events };
  }

  private takeNew(): Due | null {
    const { state } = this;
    this.skipUnwanted();
    const from = state.next;
    if (from === START_EVENT) return this.advance(from);
    const isStartOut = this.firstAttempts().some(({ events }) => events[0]?.[0] === START_EVENT);
    if (isStartOut) return null;
    if (from > this.lastEvent()) return null;
    if (this.placeOf(from) !== 'page') return this.firstAttempts().length === 0 ? this.advance(from) : null;
    if (this.waitingSpans() > MAX_WAITING_SPANS) return null;
    return this.advance(Math.min(this.nextEnd() - 1, from + RUN_EVENTS - 1));
  }

  private firstAttempts(): Run[] {
    return Object.values(this.state.runs).filter(({ attempt }) => attempt === 1);
  }

  private advance(to: number): Due {
    const from = this.state.next;
    this.state.next = to + 1;
    return { attempt: 1, events: [[from, to]] };
  }

  private skipUnwanted(): void {
    const { state } = this;
    if (state.next === START_EVENT && !this.wants('started')) state.next += 1;
    while (state.next > START_EVENT && state.next <= this.lastEvent()) {
      if (this.wants(eventAt(state, state.next))) return;
      state.next = this.placeOf(state.next) === 'page' ? this.nextEnd() : state.next + 1;
    }
  }

  /** Newest event that there is by now. */
  private lastEvent(): number {
    return this.state.known + this.state.ends.length;
  }

  /** The end or mark before which the cursor stands, or where one will be. */
  private nextEnd(): number {
    const { ends, next } = this.state;
    const nth = ends.findIndex((_, i) => endEventOf(ends, i) >= next);
    return nth === -1 ? this.lastEvent() + 1 : endEventOf(ends, nth);
  }

  private placeOf(eventNo: number): EventPlace['what'] {
    return placeOf(eventNo, this.state.ends, this.state.marks).what;
  }

  private wants(event: WebhookEvent): boolean {
    return this.state.webhook!.events.includes(event);
  }

  private send({ attempt, events, isReplay }: Due, sends: number, waits?: number): void {
    const { state, key } = this;
    const no = state.nextNo++;
    state.runs[no] = { attempt, events, sends, ...(waits && { waits }), ...(isReplay && { isReplay }) };
    const { job, jobNo, team, kind } = state;
    const stale = isReplay ? -1 : this.staleUpTo();
    const { url, headers, metadata } = state.webhook!;
    const webhook = { url, headers, metadata };
    const msg: Post = {
      type: 'Post',
      run: no,
      actor: key,
      job,
      jobNo,
      team,
      kind,
      webhook,
      attempt,
      // The runs of the state change under the message.
      events: events.map(([from, to]) => [from, to]),
      ends: [...state.ends],
      end: state.end,
      ...(state.marks && { marks: state.marks }),
      ...(stale >= 0 && { staleUpTo: stale }),
    };
    const patienceMs = Math.min(MAX_PATIENCE_MS, QUEUE_PATIENCE_MS * 2 ** (sends - 1));
    this.effects.push(
      { t: 'work', cls: 'post', prio: attempt === 1 ? 'hi' : 'lo', id: `post.${job}.${no}`, msg },
      { t: 'timer', name: `run.${no}`, inMs: patienceMs },
    );
  }

  private isOver(): boolean {
    const { state } = this;
    this.skipUnwanted();
    const isTold = state.next > this.lastEvent() && this.placeOf(this.lastEvent()) === 'end';
    return isTold && this.pending().next().done === true;
  }
}

/** Text as `jsonb` gives it back: what is sent before and after a restart must be the same bytes. */
function storedText(text: string | null): string | null {
  return text === null ? null : text.replaceAll('\0', '\ufffd').replaceAll(/[\ud800-\udfff]/gu, '\ufffd');
}
