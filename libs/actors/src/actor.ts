/**
 * An actor, as this runtime sees it: a state machine over batches of messages, without I/O.
 *
 * `plan` says which URLs it would like to admit (the only question with an answer), `finish` turns the answer into
 * effects; what `plan` has found out reaches `finish` as a value. Neither sees SQL, clocks, random numbers or sockets.
 * Both may change the activation they are given: when a turn does not commit, the runtime throws the whole activation
 * away and loads it again.
 */
import type {
  ActorKey,
  ActorKind,
  ActorMessage,
  Candidate,
  HistoryRange,
  JobMemory,
  JobNo,
  HostVerdict,
  MendedCounters,
  RowOp,
  Sender,
  WorkMessage,
} from '@troupe/contracts';
import type { WorkClass, WorkPriority } from '@troupe/contracts';

/** A message as a handler sees it. Timers arrive as messages of type `Timer`. */
export type Incoming = { from: Sender; body: ActorMessage } | { from: 'timer'; body: TimerFired };

export interface TimerFired {
  type: 'Timer';
  name: string;
}

/**
 * `cls` of a message:
 * - `pair`: numbered per (sender, receiver), kept in the outbox until the receiver's cursor passed it.
 * - `level`: the full current value with a version, newest wins; never kept, repeated by the sender's timer.
 */
export type Effect =
  | { t: 'send'; to: ActorKey; cls: 'pair' | 'level'; msg: ActorMessage }
  /** A level message to a process without a mailbox (a gateway), on a core subject. */
  | { t: 'notify'; subject: string; msg: unknown }
  /** How fetchers must treat a host, told after the commit; lossy, the newest is enough. */
  | { t: 'tell'; host: string; verdict: HostVerdict }
  /** `id` becomes part of the message id; a repeat of the same work carries a new one. */
  | { t: 'work'; cls: WorkClass; prio: WorkPriority; id: string; msg: WorkMessage }
  /** `inMs` null removes the timer. */
  | { t: 'timer'; name: string; inMs: number | null }
  | { t: 'row'; row: RowOp }
  /** Counters were set right when the actor was loaded: counted and logged, for it should not happen. */
  | { t: 'mended'; counters: MendedCounters };

/** Seeds of a batch to move from `job_seed` into the frontier; item = ord. */
export interface SeedRange {
  jobNo: JobNo;
  fromOrd: number;
  toOrd: number;
}

/** @typeParam F what `plan` has found out and `finish` goes on with */
export interface Plan<F = unknown> {
  admit: Candidate[];
  seeds: SeedRange | null;
  found: F;
}

/** The plan of an actor that admits nothing: all of its turn is `finish`. */
export const NOTHING_PLANNED: Readonly<Plan> = { admit: [], seeds: null, found: null };

/** Answer to a plan. */
export interface Answers<F = unknown> {
  /** Items of the candidates that were new and are now in the frontier. */
  admitted: ReadonlySet<number>;
  /** Seeds that were moved, in order. */
  seeds: { ord: number; url: string }[];
  /** That of the plan. */
  found: F;
}

export interface MemoryNeed {
  jobNo: JobNo;
  ready: number;
  history?: HistoryRange;
  /** As in `ActorStore.loadJobMemory`. */
  countUpTo?: number;
}

export interface Activation<S, M> {
  readonly key: ActorKey;
  state: S;
  memory: M;
}

export interface TurnContext {
  /**
   * Milliseconds of the actor's own time; only differences mean anything. It never goes back and compares no machines, so it
   * may be kept in the state: a new owner goes on from it.
   */
  now: number;
  /** Wall clock, for what is shown to people. */
  wallMs: number;
  /** Grows for ever inside a partition, across owners: fencing generations of tokens. */
  nextGen(): number;
}

export interface ActorDef<S, M = null, F = unknown> {
  kind: ActorKind;
  /** Version of state and messages; readers accept v and v-1. */
  version: number;
  /** Types whose loss of meaning would leave a job hanging: their dead letter fails the job. */
  vital: readonly string[];
  /** @param before what it was when it ended, if it starts anew */
  init(key: ActorKey, before?: S): S;
  /** The tables that must be read before the next turn, null when memory suffices. */
  need(activation: { state: S; memory: M | null }): MemoryNeed | null;
  remember(state: S, loaded: JobMemory | null, memory: M | null, now: number): M;
  plan(activation: Activation<S, M>, batch: readonly Incoming[], ctx: TurnContext): Plan<F>;
  finish(activation: Activation<S, M>, batch: readonly Incoming[], answers: Answers<F>, ctx: TurnContext): Effect[];
  /** Over: the row stays as a tombstone and no timer is required. */
  isTerminal(state: S): boolean;
  /** Types that reach a terminal actor, its state as it was; others are dropped unless it `restarts`. @default [] */
  wakesOn?: readonly string[];
  /** A message to a terminal actor starts it anew (hosts, teams); otherwise it is dropped (jobs). */
  restarts: boolean;
  /** Its turns belong to the trace of the message that began it, even after a crash. @default false: to that of the message in hand */
  keepsTrace?: boolean;
  /** Size of the part of its state that came with its start. It may be as large as this beside what it keeps of its own. @default 0 */
  broughtBytes?: number;
  /**
   * A message of a vital type could not be handled, or one has woken it of whose state nothing is left: end visibly, in
   * whatever phase.
   * @param lost that message; null: it was a timer
   */
  fail(activation: Activation<S, M>, reason: string, ctx: TurnContext, lost: ActorMessage | null): Effect[];
}
