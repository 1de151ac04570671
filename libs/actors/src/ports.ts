/** Ports of the runtime: durable store, mailboxes, leases. Adapters implement them; the simulation fakes them. */
import type {
  ActorKey,
  Candidate,
  Envelope,
  HistoryRange,
  HostVerdict,
  JobMemory,
  JobNo,
  Mail,
  MendedCounters,
  RowOp,
  Sender,
  TraceParent,
  WorkClass,
  WorkMessage,
  WorkPriority,
} from '@troupe/contracts';
import type { SeedRange } from './actor.js';

/** Thrown by the store when an actor's row no longer has the expected revision or epoch: another owner committed. */
export class FencedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FencedError';
  }
}

/** Thrown by the store for deadlocks and serialisation failures: the same drain may be run again at once. */
export class TurnConflictError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'TurnConflictError';
  }
}

/**
 * Thrown by the store for what is wrong with the data of a turn, or of an actor: out of range, too long, badly encoded, too
 * complex. Nothing was written, and the same turn fails again.
 */
export class ContentError extends Error {
  constructor(
    message: string,
    /** SQLSTATE, or `BUILD` when no statement could be made of it. */
    readonly state: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = 'ContentError';
  }
}

/** Thrown by the store when a turn took too long: it holds too much, something in it is wrong, or the store is slow. */
export class TurnTimeoutError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'TurnTimeoutError';
  }
}

export interface ActorRow {
  key: ActorKey;
  rev: number;
  /** null: this actor has never committed. */
  state: unknown;
  terminal: boolean;
  /** Since its last commit, by the store's clock; may be anything when that clock was set. */
  ageMs: number;
}

/** One message of a turn that must survive a crash between commit and publish. */
export interface OutboxRow {
  /** From the partition's counter, seeded epoch * 2^32: commit order = id order. */
  id: number;
  from: ActorKey;
  /** Actor messages of class pair; null for work. */
  to: ActorKey | null;
  n: number | null;
  payload: OutboxPayload;
}

export type OutboxPayload =
  | { kind: 'actor'; envelope: Envelope }
  | { kind: 'work'; cls: WorkClass; prio: WorkPriority; id: string; msg: WorkMessage; trace?: TraceParent };

export interface TimerRow {
  key: ActorKey;
  name: string;
  /** Against the store's clock, may be negative. */
  dueInMs: number;
}

export interface DeadLetter {
  key: ActorKey;
  type: string;
  envelope: unknown;
  error: string;
}

export interface TurnHead {
  part: number;
  epoch: number;
  fences: { key: ActorKey; rev: number }[];
  candidates: Candidate[];
  seeds: SeedRange[];
}

export interface TurnAnswers {
  /** New candidates, by job. */
  admitted: Map<JobNo, Set<number>>;
  seeds: Map<JobNo, { ord: number; url: string }[]>;
}

export interface TimerChange {
  key: ActorKey;
  name: string;
  /** null: the timer is cleared. */
  inMs: number | null;
}

export interface TurnWrites {
  /** `rev` is the revision before the turn, the store writes rev + 1; `state` is JSON. */
  actors: { key: ActorKey; rev: number; state: string; terminal: boolean }[];
  outbox: OutboxRow[];
  /** Highest pair number accepted per (receiver, sender). */
  cursors: { to: ActorKey; from: Sender; n: number }[];
  timers: TimerChange[];
  rows: RowOp[];
  deadLetters: DeadLetter[];
  /** For a caller that counts them: no table has them. @default none */
  mended?: MendedCounters[];
}

export interface ActorStore {
  /** Takes the partition in Postgres and returns its new epoch (> every earlier one). */
  mintEpoch(part: number, owner: string): Promise<number>;
  /** The owner of this epoch ends in good order: nothing in the partition has killed it. */
  releasePartition(part: number, epoch: number): Promise<void>;
  /** How many owners before this epoch did not release the partition, each within ten minutes of the next. */
  lostOwners(part: number, epoch: number): Promise<number>;
  /** Actors that are in a turn which may kill its process: how often each has been begun and not ended. */
  loadMarks(part: number): Promise<Map<ActorKey, number>>;
  /** `n` null: the turn has ended. */
  mark(part: number, key: ActorKey, n: number | null): Promise<void>;
  /** Claims the actors for this epoch (inserting rows that are absent) and returns them with state and revision. */
  activate(part: number, epoch: number, keys: ActorKey[]): Promise<ActorRow[]>;
  /** Pair cursors of these receivers. */
  loadCursors(keys: ActorKey[]): Promise<{ to: ActorKey; from: Sender; n: number }[]>;
  /**
   * @param history read along with it
   * @param countUpTo when `ready` is full, all open rows are counted, so many at the most
   */
  loadJobMemory(jobNo: JobNo, readyLimit: number, history?: HistoryRange, countUpTo?: number): Promise<JobMemory>;
  /**
   * One transaction: fence (first statement, keys sorted), admit candidates and seeds, `decide`, write everything.
   * Throws `FencedError` or `TurnConflictError`; nothing is written then.
   */
  commitTurn(head: TurnHead, decide: (answers: TurnAnswers) => TurnWrites): Promise<void>;
  /**
   * Ends an actor whose messages cannot even become dead letters: it is terminal and forgets its state, its timers are gone, its job is
   * failed with `error`, and a dead letter without any of its data is left. All of it is text of ours, so this always can be
   * written. Throws `FencedError`.
   */
  endActor(part: number, epoch: number, ended: { key: ActorKey; type: string; error: string }): Promise<void>;
  /** Resolves when the store answers within a second, rejects otherwise. */
  probe(): Promise<void>;
  /** Timers due within the horizon, earliest first. */
  loadTimers(part: number, horizonMs: number): Promise<TimerRow[]>;
  /** Every outbox row of the partition that is older than `minAgeMs`, in id order. */
  loadOutbox(part: number, minAgeMs: number, limit: number): Promise<OutboxRow[]>;
  /** Those among them that are pair messages, with an id above `after`. */
  loadOpenPairs(part: number, minAgeMs: number, after: number, limit: number): Promise<OutboxRow[]>;
  /** Pair messages to `to` from `from` with n > after, in order: what the bus may have lost. */
  loadPairs(to: ActorKey, from: Sender, after: number): Promise<Envelope[]>;
  /** Work rows whose publish was acknowledged. */
  deleteOutbox(part: number, ids: number[]): Promise<void>;
  /** Deletes pair rows of the partition's senders that the receivers' cursors have passed. */
  sweepPairs(part: number): Promise<void>;
}

export interface Delivery {
  envelope: Mail;
  ack(): void;
  /** Ask for redelivery after a while (unknown schema version). */
  nack(delayMs: number): void;
}

/** A partition's mailbox under one epoch. Unacknowledged messages of an earlier epoch come back at once, in order. */
export interface Mailbox {
  /** Resolves with what is buffered, at least one message, or with [] after `idleMs` or when closed. */
  take(max: number, idleMs: number): Promise<Delivery[]>;
  /** Ends a `take` that waits. */
  wake(): void;
  close(): Promise<void>;
}

export interface Bus {
  /** Resolves when the stream has the message. */
  publishActor(envelope: Mail): Promise<void>;
  publishWork(cls: WorkClass, prio: WorkPriority, id: string, msg: WorkMessage, cause?: TraceParent): Promise<void>;
  /** Core NATS, lossy. */
  notify(subject: string, msg: unknown): void;
  /** Shows every fetcher how to treat a host; lossy, repeated by the host's actor. */
  tell(host: string, verdict: HostVerdict): void;
  /** Replaces the partition's consumer by one of this epoch. Throws `FencedError` when a higher epoch exists. */
  openMailbox(part: number, epoch: number): Promise<Mailbox>;
}

/** Leases on partitions, kept by compare-and-set on a bucket that every replica watches. */
export interface LeaseBoard {
  /** Registers this replica and starts watching. */
  start(): Promise<void>;
  /** Replicas seen alive within the last `ttlMs`, this one included. */
  liveMembers(): string[];
  /** Partitions without a holder: empty, or with a revision that has not moved for `ttlMs` by this process's own clock. */
  free(): number[];
  /** One compare-and-set; false when another replica was faster. */
  acquire(part: number): Promise<boolean>;
  renew(part: number): Promise<boolean>;
  /** Writes the empty value so that others need not wait. */
  release(part: number): Promise<void>;
  /** This replica is no live member for the others until it steps in again; its leases stay as they are. */
  stepAside(): Promise<void>;
  stepIn(): Promise<void>;
  stop(): Promise<void>;
}
