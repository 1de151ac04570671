/**
 * One drain: the turns of several actors, prepared in memory and committed in one transaction.
 *
 * The handlers run inside `decide`, between the admission of candidates and the writes, so their effects, state, rows
 * and outgoing messages live or die together.
 */
import {
  partitionOf,
  type ActorKey,
  type ActorMessage,
  type Envelope,
  type HostVerdict,
  type MendedCounters,
  type TraceSpan,
  type TraceParent,
} from '@troupe/contracts';
import { NOTHING_PLANNED, type ActorDef, type Effect, type Incoming, type Plan, type TurnContext } from './actor.js';
import type { KeptTrace, LiveActor } from './activations.js';
import type { DeadLetter, OutboxRow, TurnAnswers, TurnHead, TurnWrites } from './ports.js';

export const HEARTBEAT = 'heartbeat';
export const HEARTBEAT_MS = 300_000;
const HEARTBEAT_RENEW_MS = 120_000;
/** Limit of what an actor keeps of its own; see `ActorDef.broughtBytes`. */
const STATE_LIMIT_BYTES = 256 * 1024;

/** Thrown when a handler fails: names the actor, so that the others can go on without it. */
export class HandlerError extends Error {
  constructor(
    readonly key: ActorKey,
    options: { cause: unknown },
  ) {
    super(
      `handler of ${key} failed: ${options.cause instanceof Error ? options.cause.message : String(options.cause)}`,
      options,
    );
    this.name = 'HandlerError';
  }
}

/** The part of a drain that belongs to one actor. */
export interface ActorBatch {
  liveActor: LiveActor;
  def: ActorDef<unknown, unknown>;
  batch: Incoming[];
  /** Pair numbers accepted by this batch. */
  accepted: Map<string, number>;
  firedTimers: string[];
  /** Replaces the handlers when the batch could not be handled, so that the job fails visibly. */
  failure: { reason: string; lost: ActorMessage | null } | null;
  deadLetters: DeadLetter[];
  span: TraceSpan;
}

/** Effects that happen after the commit. */
export interface AfterCommit {
  outbox: OutboxRow[];
  level: Envelope[];
  notes: { subject: string; msg: unknown }[];
  verdicts: { host: string; verdict: HostVerdict }[];
  mended: MendedCounters[];
}

export interface TurnDeps {
  part: number;
  epoch: number;
  /** `now` is this process's clock; handlers get their actor's own. */
  ctx: TurnContext;
  nextOutboxId(): number;
  nextLevelId(): string;
}

/** Contents of `actor.state`. */
export interface StoredState {
  v: number;
  s: unknown;
  /** Highest pair number sent, by receiver. */
  sent: Record<string, number>;
  /** The actor's own time. @default the wall clock's, before states had a time */
  t?: number;
  trace?: KeptTrace;
}

export class Turn {
  private readonly plans: Plan[];
  afterCommit: AfterCommit = { outbox: [], level: [], notes: [], verdicts: [], mended: [] };

  constructor(
    private readonly batches: ActorBatch[],
    private readonly deps: TurnDeps,
  ) {
    this.plans = batches.map((entry) =>
      guarded(entry, () =>
        entry.failure === null ? entry.def.plan(entry.liveActor, entry.batch, this.contextOf(entry)) : NOTHING_PLANNED,
      ),
    );
  }

  head(): TurnHead {
    return {
      part: this.deps.part,
      epoch: this.deps.epoch,
      fences: this.batches.map(({ liveActor }) => ({ key: liveActor.key, rev: liveActor.rev })),
      candidates: this.plans.flatMap((plan) => plan.admit),
      seeds: this.plans.flatMap((plan) => plan.seeds ?? []),
    };
  }

  /** Runs the handlers with the store's answers. Safe to call again after a rollback only on fresh activations. */
  decide(answers: TurnAnswers): TurnWrites {
    const writes: TurnWrites = { actors: [], outbox: [], cursors: [], timers: [], rows: [], deadLetters: [] };
    this.batches.forEach((entry, index) => {
      const effects = guarded(entry, () => this.effectsOf(entry, this.plans[index]!, answers));
      guarded(entry, () => this.collect(entry, effects, writes));
    });
    this.afterCommit.outbox = writes.outbox;
    return writes;
  }

  private effectsOf(entry: ActorBatch, plan: Plan, answers: TurnAnswers): Effect[] {
    const { def, liveActor, batch, failure } = entry;
    if (failure !== null) return def.fail(liveActor, failure.reason, this.contextOf(entry), failure.lost);
    const jobNo = plan.admit[0]?.jobNo ?? plan.seeds?.jobNo;
    return def.finish(
      liveActor,
      batch,
      {
        admitted: (jobNo === undefined ? undefined : answers.admitted.get(jobNo)) ?? NO_ITEMS,
        seeds: (jobNo === undefined ? undefined : answers.seeds.get(jobNo)) ?? [],
        found: plan.found,
      },
      this.contextOf(entry),
    );
  }

  private contextOf({ liveActor }: ActorBatch): TurnContext {
    const { ctx } = this.deps;
    return { ...ctx, now: ctx.now + liveActor.timeOffset };
  }

  private collect(entry: ActorBatch, effects: Effect[], writes: TurnWrites): void {
    const { liveActor, def } = entry;
    const timers = new Map<string, number | null>(entry.firedTimers.map((name) => [name, null]));
    for (const effect of effects) this.apply(effect, entry, timers, writes);
    liveActor.terminal = liveActor.isErased || def.isTerminal(liveActor.state);
    this.keepAlive(liveActor, timers);
    for (const [name, inMs] of timers) writes.timers.push({ key: liveActor.key, name, inMs });
    for (const [from, n] of entry.accepted)
      writes.cursors.push({ to: liveActor.key, from: from as Envelope['from'], n });
    writes.deadLetters.push(...entry.deadLetters);
    writes.actors.push({
      key: liveActor.key,
      rev: liveActor.rev,
      state: storedState(liveActor, def, this.deps.ctx.now + liveActor.timeOffset),
      terminal: liveActor.terminal,
    });
  }

  /** No living actor is left without a timer at most `HEARTBEAT_MS` ahead (invariant I3). */
  private keepAlive(liveActor: LiveActor, timers: Map<string, number | null>): void {
    if (liveActor.terminal) {
      if (!timers.has(HEARTBEAT)) timers.set(HEARTBEAT, null);
      return;
    }
    const { now } = this.deps.ctx;
    if (liveActor.heartbeatAt - now > HEARTBEAT_RENEW_MS && !timers.has(HEARTBEAT)) return;
    timers.set(HEARTBEAT, HEARTBEAT_MS);
    liveActor.heartbeatAt = now + HEARTBEAT_MS;
  }

  private apply(effect: Effect, entry: ActorBatch, timers: Map<string, number | null>, writes: TurnWrites): void {
    const { liveActor, span } = entry;
    switch (effect.t) {
      case 'row':
        writes.rows.push(effect.row);
        return;
      case 'timer':
        timers.set(effect.name, effect.inMs);
        return;
      case 'mended':
        (writes.mended ??= []).push(effect.counters);
        this.afterCommit.mended.push(effect.counters);
        return;
      case 'notify':
        this.afterCommit.notes.push({ subject: effect.subject, msg: effect.msg });
        return;
      case 'tell':
        this.afterCommit.verdicts.push({ host: effect.host, verdict: effect.verdict });
        return;
      case 'work':
        writes.outbox.push({
          id: this.deps.nextOutboxId(),
          from: liveActor.key,
          to: null,
          n: null,
          payload: {
            kind: 'work',
            cls: effect.cls,
            prio: effect.prio,
            id: effect.id,
            msg: effect.msg,
            ...traceFrom(span.context),
          },
        });
        return;
      case 'send':
        this.send(effect, entry, writes);
    }
  }

  private send(effect: Effect & { t: 'send' }, { liveActor, def, span }: ActorBatch, writes: TurnWrites): void {
    const envelope: Envelope = {
      id: '',
      type: effect.msg.type,
      v: def.version,
      from: liveActor.key,
      to: effect.to,
      n: null,
      body: effect.msg,
      ...traceFrom(span.context),
    };
    if (effect.cls === 'level') {
      this.afterCommit.level.push({ ...envelope, id: this.deps.nextLevelId() });
      return;
    }
    const n = (liveActor.sent.get(effect.to) ?? 0) + 1;
    liveActor.sent.set(effect.to, n);
    writes.outbox.push({
      id: this.deps.nextOutboxId(),
      from: liveActor.key,
      to: effect.to,
      n,
      payload: { kind: 'actor', envelope: { ...envelope, n } },
    });
  }
}

const traceFrom = (trace: TraceParent | undefined) => (trace === undefined ? {} : { trace });

const NO_ITEMS: ReadonlySet<number> = new Set();

/** JSON of a `StoredState`. */
function storedState(liveActor: LiveActor, def: ActorDef<unknown, unknown>, time: number): string {
  const stored: StoredState = {
    v: def.version,
    s: liveActor.state,
    sent: Object.fromEntries(liveActor.sent),
    t: Math.ceil(time),
    ...(liveActor.trace === null ? {} : { trace: liveActor.trace }),
  };
  const json = JSON.stringify(stored);
  if (json.length > STATE_LIMIT_BYTES + (def.broughtBytes ?? 0))
    throw new HandlerError(liveActor.key, { cause: new Error(`state of ${json.length} bytes is above the limit`) });
  return json;
}

function guarded<T>(entry: ActorBatch, run: () => T): T {
  return asHandlerError(entry.liveActor.key, run);
}

/** An error of `run` is the actor's fault. @throws HandlerError */
export function asHandlerError<T>(key: ActorKey, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof HandlerError ? error : new HandlerError(key, { cause: error });
  }
}

/** Whether a key belongs to a partition; a message in the wrong mailbox is a bug of its sender. */
export function isInPartition(key: ActorKey, part: number): boolean {
  return partitionOf(key) === part;
}
