/**
 * The common life of extract and agent jobs: their start, the steps that extractors do for them, their limits, their
 * bill, the view of clients and receivers of webhooks, their end. The course of each kind decides which steps there
 * are.
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
  actorKey,
  checkSpec,
  progressSubject,
  SPEC_LIMITS,
  SPEC_TOO_LARGE,
  tokenCredits,
  type ActorKey,
  type ActorMessage,
  type JobEnd,
  type JobEvent,
  type JobProgress,
  type ModelJobStart,
  type ModelWork,
  type WorkPriority,
} from '@troupe/contracts';
import { failedById, receipts, receiptsOfLost, restUntilStart } from '../crawl/commands.js';
import { trimmedSpec } from '../crawl/trimmed-spec.js';
import { warn, type ModelJobState } from './model-job.state.js';
import { StepDesk, type StepEnd } from './step-desk.js';

/** The next move: steps that were never begun (none: wait until a step ends), or the end of the job. */
export type Move = { begin: string[] } | { end: JobEnd };

export interface Course<S extends ModelJobState> {
  kind: ModelJobStart['kind'];
  empty(): S;
  /** The words of a step, the same at every attempt. */
  workOf(state: S, step: string): { work: ModelWork; prio: WorkPriority };
  /** Takes the end of a step; called once for each. */
  settle(state: S, end: StepEnd): void;
  /** Asked at the end of every turn while the job runs. */
  next(state: S): Move;
  /** Counts that clients see. */
  progress(state: S): { total: number; completed: number };
  /** Events between start and end that receivers of webhooks may be told of: `pages` of the delivery actor. */
  shownEvents(state: S): number;
  /** News of a job that fetches pages for this one; asked of a job that has ended, too. */
  hearChild?(state: S, from: ActorKey, event: JobEvent): Effect[];
  /** Effects that end other jobs after the job's own end; asked again every `CLOSING_MS` until there are none. */
  closing?(state: S): Effect[];
}

/** Time that other jobs begun by this one may take to end; child jobs live no longer. */
const CLOSING_LIMIT_MS = 49 * 3_600_000;
const CLOSING_MS = 5_000;
const CLOSING_TIMER = 'closing';
const LIMIT_TIMER = 'limit';
const PROGRESS_EVERY_MS = 250;

export interface ModelJobMemory {
  progressAt: number;
}

export function modelJobActor<S extends ModelJobState>(course: Course<S>): ActorDef<S, ModelJobMemory> {
  return {
    kind: course.kind,
    version: 1,
    vital: ['Start', 'ModelDone', 'JobEvent'],
    // Children keep their news until it is taken in, and a command needs its receipt.
    wakesOn: ['JobEvent', 'Cancel'],
    restarts: false,
    keepsTrace: true,
    broughtBytes: SPEC_LIMITS.bytes,
    init: () => course.empty(),
    need: () => null,
    remember: (_state, _loaded, memory) => memory ?? { progressAt: 0 },
    plan: () => NOTHING_PLANNED,
    finish: (activation, batch, _answers, ctx) => new ModelJobTurn(activation, course, ctx).run(batch),
    isTerminal: (state) => state.phase === 'over',
    fail: (activation, reason, ctx, lost) => new ModelJobTurn(activation, course, ctx).fail(reason, lost),
  };
}

class ModelJobTurn<S extends ModelJobState> {
  private readonly key: ActorKey;
  private readonly state: S;
  private readonly memory: ModelJobMemory;
  private readonly effects: Effect[] = [];
  private readonly desk: StepDesk;
  private changed = false;

  constructor(
    activation: Activation<S, ModelJobMemory>,
    private readonly course: Course<S>,
    private readonly ctx: TurnContext,
  ) {
    const { key, state, memory } = activation;
    this.key = key;
    this.state = state;
    this.memory = memory;
    const workOf = (step: string) => course.workOf(state, step);
    this.desk = new StepDesk({ key, state, ctx, workOf, effects: this.effects });
  }

  run(batch: readonly Incoming[]): Effect[] {
    this.effects.push(...receipts(this.key, batch));
    for (const { from, body } of batch) this.apply(from, body);
    // A job whose state was erased is woken by late news only.
    if (this.state.phase === 'idle') return this.restUnlessNew(batch);
    this.advance();
    this.close();
    return this.effects;
  }

  /** A job whose start is lost begins, so that its clients hear of its end. */
  fail(reason: string, lost: ActorMessage | null): Effect[] {
    const { state } = this;
    const error = `internal error: ${reason}`;
    this.effects.push(...receiptsOfLost(this.key, lost));
    if (state.phase === 'idle' && lost?.type === 'Start' && lost.kind === this.course.kind) this.begin(lost, true);
    if (state.phase === 'idle') {
      Object.assign(state, { phase: 'over', status: 'failed', error });
      this.effects.push(failedById(this.key, error));
    }
    this.end({ status: 'failed', error });
    this.close();
    return this.effects;
  }

  private restUnlessNew(batch: readonly Incoming[]): Effect[] {
    if (batch.some(({ body }) => body.type === 'JobEvent')) this.state.phase = 'over';
    return [...this.effects, ...restUntilStart(this.state, batch)];
  }

  private cancel(): void {
    if (this.state.phase === 'idle') this.state.cancelled = true;
    else this.end({ status: 'cancelled', error: null });
  }

  private apply(from: Incoming['from'], body: Incoming['body']): void {
    switch (body.type) {
      case 'Start':
        return body.kind === this.course.kind ? this.start(body) : undefined;
      case 'Cancel':
        return this.cancel();
      case 'ModelBusy':
        return this.desk.busy(body);
      case 'ModelDone':
        this.changed ||= this.state.steps[body.step] !== undefined;
        return this.settle(this.desk.done(body));
      case 'JobEvent':
        return this.hearChild(from as ActorKey, body);
      case 'Timer':
        return this.settle(this.desk.timer(body.name));
      // The rest is for other actors.
      default:
    }
  }

  private start(start: ModelJobStart): void {
    if (this.state.phase !== 'idle') return;
    const breach = checkSpec(start.spec);
    this.begin(start, breach !== null);
    if (breach !== null) this.end({ status: 'failed', error: `${SPEC_TOO_LARGE}: ${breach.message}` });
    if (this.state.cancelled === true) this.cancel();
  }

  /** @param isLost the job fails at once, and its options are not kept */
  private begin(start: ModelJobStart, isLost: boolean): void {
    const { state } = this;
    const { job, jobNo, team, keyId, createdMs } = start;
    const spec = isLost ? trimmedSpec<ModelJobStart['spec']>(start.spec) : start.spec;
    Object.assign(state, { phase: 'running', job, jobNo, team, keyId, createdMs, spec });
    if (start.kind === 'extract') warn(state, start.spec.warning);
    this.changed = true;
    this.effects.push({ t: 'timer', name: LIMIT_TIMER, inMs: Math.max(0, this.timeLeftMs()) });
    this.tell({ type: 'JobEvent', event: 'started', job, jobNo, team, kind: this.course.kind, webhook: spec.webhook! });
    state.told = 0;
  }

  private settle(end: StepEnd | null): void {
    if (end === null) return;
    this.changed = true;
    this.course.settle(this.state, end);
  }

  private hearChild(from: ActorKey, event: JobEvent): void {
    if (this.state.phase === 'idle') return;
    this.changed ||= this.state.phase === 'running';
    this.effects.push(...(this.course.hearChild?.(this.state, from, event) ?? []));
  }

  private advance(): void {
    const { state } = this;
    if (state.phase !== 'running') return;
    if (this.timeLeftMs() <= 0) return this.end({ status: 'failed', error: this.timeoutText() });
    const move = this.course.next(state);
    if ('end' in move) return this.end(move.end);
    for (const step of move.begin) this.desk.begin(step);
    if (move.begin.length > 0) this.changed = true;
  }

  private timeLeftMs(): number {
    return this.state.createdMs + this.state.spec!.timeoutMs - this.ctx.wallMs;
  }

  private timeoutText(): string {
    return `The job did not finish within its timeout of ${this.state.spec!.timeoutMs / 1000} s`;
  }

  /** The client's end of the job; nothing that comes later changes it. */
  private end({ status, error }: JobEnd): void {
    const { state } = this;
    if (state.phase !== 'running') return;
    state.phase = 'closing';
    state.status = status;
    state.error = error;
    this.desk.drop();
    this.effects.push({ t: 'timer', name: LIMIT_TIMER, inMs: null }, ...this.rows(true), ...this.progress(true));
    const uptoOrd = this.course.shownEvents(state);
    this.tell({ type: 'JobEvent', event: 'terminal', uptoOrd, status, error });
  }

  /** Shows a running job to clients. After its end, goes on to end the jobs that it began. */
  private close(): void {
    const { state } = this;
    if (state.phase === 'running') {
      if (this.changed) this.effects.push(...this.rows(false), ...this.progress(false));
      return this.tellOfNews();
    }
    if (state.phase !== 'closing') return;
    const open = this.course.closing?.(state) ?? [];
    const isOver = open.length === 0 || this.ctx.wallMs - state.createdMs > CLOSING_LIMIT_MS;
    if (isOver) state.phase = 'over';
    else this.effects.push(...open);
    this.effects.push({ t: 'timer', name: CLOSING_TIMER, inMs: isOver ? null : CLOSING_MS });
  }

  private tellOfNews(): void {
    const uptoOrd = this.course.shownEvents(this.state);
    if (uptoOrd <= this.state.told) return;
    this.state.told = uptoOrd;
    this.tell({ type: 'JobEvent', event: 'pages', uptoOrd });
  }

  private tell(msg: JobEvent): void {
    if (this.state.spec?.webhook == null) return;
    this.effects.push({ t: 'send', to: actorKey('delivery', this.state.job), cls: 'pair', msg });
  }

  private credits(): number {
    return tokenCredits(this.state.tokens) + this.state.pageCredits;
  }

  private rows(finished: boolean): Effect[] {
    const { jobNo, team, keyId, status, error, tokens, warnings } = this.state;
    const credits = this.credits();
    const { total, completed } = this.course.progress(this.state);
    const warning = warnings.length === 0 ? null : warnings.join(' ');
    const shown = { status, total, completed, credits, tokens, error, warning };
    return [
      { t: 'row', row: { op: 'job.update', jobNo, ...shown, seeds: 0, excluded: {}, finished } },
      // These jobs deliver no documents.
      { t: 'row', row: { op: 'ledger.upsert', jobNo, team, kind: this.course.kind, keyId, credits, pages: 0 } },
    ];
  }

  /** At most four a second, and one at the end; lossy. */
  private progress(force: boolean): Effect[] {
    const { memory, ctx, state } = this;
    if (!force && memory.progressAt > ctx.now) return [];
    memory.progressAt = ctx.now + PROGRESS_EVERY_MS;
    const { total, completed } = this.course.progress(state);
    const msg: JobProgress = { job: state.job, status: state.status, total, completed, ord: completed };
    return [{ t: 'notify', subject: progressSubject(state.job), msg }];
  }
}
