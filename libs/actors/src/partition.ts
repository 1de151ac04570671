/**
 * The owner of one partition under one epoch: drains its mailbox and timers into turns (docs/design/actors.md, "Turns").
 *
 * An actor never has two turns at once, and a partition runs one transaction at a time. Whatever fails is thrown away
 * and loaded again; safety comes from the store's fence, never from this object's belief that it is the owner.
 */
import type { ActorKey, ActorKind, Envelope, Mail, TraceSpan, Tracer } from '@troupe/contracts';
import { NO_SPAN, NO_TRACES, parseActorKey } from '@troupe/contracts';
import { Activations, type LiveActor } from './activations.js';
import type { ActorDef, Incoming, TurnContext } from './actor.js';
import type { Clock, RuntimeLog } from './clock.js';
import { LevelPost } from './level-post.js';
import { Outbox } from './outbox.js';
import { Drain, type DrainItem, type PoisonNote } from './drain.js';
import {
  ContentError,
  FencedError,
  TurnConflictError,
  type ActorRow,
  type ActorStore,
  type Bus,
  type Delivery,
  type Mailbox,
  type TimerChange,
} from './ports.js';
import { TimerHeap } from './timers.js';
import { asHandlerError, HandlerError, isInPartition, Turn, type ActorBatch, type StoredState } from './turn.js';
import { turnSpan } from './turn-traces.js';

export interface PartitionOptions {
  /** Messages of one drain. @default 256 */
  maxDrain: number;
  /** Longest wait for a message. @default 1000 */
  idleMs: number;
  /**
   * Least time from one drain to the next: mail that comes meanwhile shares a transaction. Mail after a rest does not wait.
   * @default 20
   */
  paceMs: number;
  timerHorizonMs: number;
  timerReloadMs: number;
  passivateMs: number;
  maxActors: number;
}

export const PARTITION_DEFAULTS: PartitionOptions = {
  maxDrain: 256,
  idleMs: 1_000,
  paceMs: 20,
  timerHorizonMs: 60_000,
  timerReloadMs: 30_000,
  passivateMs: 60_000,
  maxActors: 2_000,
};

export interface PartitionDeps {
  store: ActorStore;
  bus: Bus;
  clock: Clock;
  log: RuntimeLog;
  defs: ReadonlyMap<ActorKind, ActorDef<unknown, unknown>>;
  options: PartitionOptions;
  /** @default nothing is recorded */
  tracer?: Tracer;
  /** Shared by the partitions of a process. @default one of its own, in which nothing waits */
  levels?: LevelPost;
}

/** One thing to handle: a delivered message or a timer that fired. */
interface Item extends DrainItem {
  mail: Letter | null;
  timer: string | null;
}

interface Letter {
  envelope: Envelope;
  ack(): void;
}

/** Mail from this process is lost with it, and sent again. */
function fromHere(envelope: Envelope): Delivery {
  return { envelope, ack: () => {}, nack: () => {} };
}

/** A delivery of several messages is acknowledged when the last of them has been handled. */
function unpack({ envelope, ack }: Delivery): Letter[] {
  const envelopes = envelopesOf(envelope);
  const open = new Set(envelopes);
  return envelopes.map((letter) => ({
    envelope: letter,
    ack: () => {
      if (open.delete(letter) && open.size === 0) ack();
    },
  }));
}

function envelopesOf({ body, ...mail }: Mail): Envelope[] {
  if (body.type === 'Sack') return body.letters;
  if (body.type !== 'Bundle') return [{ ...mail, body }];
  return body.messages.map((message) => ({ ...mail, type: message.type, body: message }));
}

function groupByKey(items: readonly Item[]): Map<ActorKey, Item[]> {
  const groups = new Map<ActorKey, Item[]>();
  for (const item of items) {
    const group = groups.get(item.key);
    if (group === undefined) groups.set(item.key, [item]);
    else group.push(item);
  }
  return groups;
}

async function ended(work: Promise<void>, spans: readonly TraceSpan[]): Promise<void> {
  if (spans.length === 0) return work;
  try {
    await work;
    for (const span of spans) span.end();
  } catch (error) {
    for (const span of spans) span.end(error);
    throw error;
  }
}

/** True when the store, or a handler, has refused: nothing of the turn is written. */
function isWithoutEffect(error: unknown): boolean {
  return [FencedError, TurnConflictError, ContentError, HandlerError].some((kind) => error instanceof kind);
}

/** Time for which items of an actor are dropped that cannot even be ended. */
const QUARANTINE_MS = 10 * 60_000;
/** After this number of owners in a row that did not release the partition its mail is opened carefully. */
const SUSPICIOUS_OWNERS = 2;
/** Items that are handled carefully. By then the item that ended the owners has come by. */
const CAREFUL_ITEMS = 1_024;
/** Turns of an actor that ended their process: from the first number on its messages come alone, at the second one is not handled. */
const KILLS_BEFORE_ALONE = 2;
const KILLS_BEFORE_DEAD_LETTER = 4;
/** During a rolling upgrade an owner that knows the version takes over within this time. */
const UNKNOWN_VERSION_MS = 15 * 60_000;
const UNKNOWN_VERSION_RETRY_MS = 5_000;
/** Fencing numbers: epoch * 2^32 + n stays exact below 2^21 epochs. */
const EPOCH_STRIDE = 2 ** 32;
/** Level messages of this process that wait for a drain. Further ones go over the bus. */
const MAX_LOCAL_MAIL = 4_096;
/** Longest time without an owner that an actor is told of. */
const MAX_AGE_MS = 60 * 60_000;
/** Messages of unknown versions for which the time of their first sight is remembered. */
const MAX_UNKNOWN_VERSIONS = 10_000;
const PRIORITY_TYPES = new Set(['Cancel', 'Pause']);

function wakes(group: readonly Item[], { wakesOn = [] }: ActorDef<unknown, unknown>): boolean {
  return group.some(({ mail }) => mail !== null && wakesOn.includes(mail.envelope.type));
}

/** It cannot go on with what it is told, and whoever said so is to see that. */
function failErased(entry: ActorBatch): void {
  const { batch, def } = entry;
  const woken = batch.find(({ body }) => def.wakesOn?.includes(body.type));
  if (woken === undefined || woken.body.type === 'Timer') return;
  entry.failure ??= { reason: 'nothing is left of the state of its actor', lost: woken.body };
}

export class Partition {
  private readonly actors: Activations;
  private readonly timers = new TimerHeap();
  private readonly outbox: Outbox;
  private readonly levels: LevelPost;
  private mailbox: Mailbox | null = null;
  private isOpen = false;
  private counter = 0;
  private carried: Item[] = [];
  /** Level messages from this process. */
  private localMail: Envelope[] = [];
  private nextDrainAt = 0;
  private readonly handler: Drain<Item>;
  private readonly quarantined = new Map<ActorKey, number>();
  /** Turns that former owners did not end, counted by actor. */
  private marks = new Map<ActorKey, number>();
  private carefulItems = 0;
  /** Messages of unknown versions, by id: when they were first seen. */
  private readonly unknownVersions = new Map<string, number>();
  private timersReloadAt = 0;
  private passivateAt = 0;

  constructor(
    readonly part: number,
    readonly epoch: number,
    private readonly deps: PartitionDeps,
  ) {
    this.actors = new Activations(deps.options.maxActors);
    this.outbox = new Outbox(part, { store: deps.store, bus: deps.bus, log: deps.log, clock: deps.clock });
    this.levels = deps.levels ?? new LevelPost({ bus: deps.bus, log: deps.log, clock: deps.clock, paceMs: 0 });
    this.handler = new Drain<Item>({
      commit: (items, poison) => this.commit(items, poison),
      forget: (items) => this.forget(items),
      endActor: (item, error) => this.endActor(item, error),
      quarantine: (item) => this.quarantine(item),
      probe: () => deps.store.probe(),
      clock: deps.clock,
      log: deps.log,
    });
  }

  /** Opens consumer, due timers and unconfirmed outbox rows. Nothing is consumed before. */
  async open(): Promise<void> {
    await this.lookBack();
    this.mailbox = await this.deps.bus.openMailbox(this.part, this.epoch);
    await this.reloadTimers();
    await this.outbox.recover();
    this.isOpen = true;
  }

  private async lookBack(): Promise<void> {
    const { store, log } = this.deps;
    const lost = await store.lostOwners(this.part, this.epoch);
    if (lost < SUSPICIOUS_OWNERS) return;
    log.warn({ part: this.part, lost }, 'owners of this partition have ended without releasing it: opened carefully');
    this.marks = await store.loadMarks(this.part);
    this.carefulItems = CAREFUL_ITEMS;
  }

  async close(): Promise<void> {
    this.isOpen = false;
    this.levels.publish(this.localMail.splice(0));
    await this.mailbox?.close();
    await this.outbox.tend(true).catch(() => undefined);
    await this.deps.store.releasePartition(this.part, this.epoch).catch(() => undefined);
  }

  /**
   * Takes a level message that an actor of this process has sent, as a copy. False: not open, or more than it can hold;
   * the message has to go over the bus.
   */
  receive(envelope: Envelope): boolean {
    if (!this.isOpen || this.localMail.length >= MAX_LOCAL_MAIL) return false;
    this.localMail.push(JSON.parse(JSON.stringify(envelope)) as Envelope);
    this.mailbox!.wake();
    return true;
  }

  /**
   * Waits for something to do and does it. Rejects with `FencedError` when another owner committed: this object is
   * then useless. Any other rejection leaves the drain carried over: call again.
   */
  async step(): Promise<void> {
    const items = this.carried.length > 0 ? this.carried : await this.collect();
    if (items.length > 0) {
      this.carried = items;
      this.nextDrainAt = this.deps.clock.now() + this.deps.options.paceMs;
      await this.drain(items);
      this.carried = [];
    }
    await this.tend();
  }

  private async collect(): Promise<Item[]> {
    const { clock, options } = this.deps;
    const restMs = Math.min(options.paceMs, this.nextDrainAt - clock.now());
    if (restMs > 0) await clock.sleep(restMs);
    const now = clock.now();
    const nextTimer = this.timers.nextAt();
    const idleMs = nextTimer === null ? options.idleMs : Math.max(0, Math.min(options.idleMs, nextTimer - now));
    const deliveries = await this.mailbox!.take(options.maxDrain, this.localMail.length > 0 ? 0 : idleMs);
    for (const envelope of this.localMail.splice(0, options.maxDrain)) deliveries.push(fromHere(envelope));
    const items: Item[] = [];
    for (const delivery of deliveries) this.sort(delivery, items);
    for (const { key, name } of this.timers.takeDue(clock.now(), options.maxDrain))
      items.push({ key, type: `timer ${name}`, mail: null, timer: name });
    return items;
  }

  private sort(delivery: Delivery, items: Item[]): void {
    const letters = unpack(delivery);
    const unreadable = letters.find(({ envelope }) => !this.isReadable(envelope));
    if (unreadable !== undefined && this.knownForMs(unreadable.envelope) < UNKNOWN_VERSION_MS) {
      const { to, type, v } = unreadable.envelope;
      this.deps.log.warn({ to, type, v }, 'unknown message version, will be delivered again');
      delivery.nack(UNKNOWN_VERSION_RETRY_MS);
      return;
    }
    for (const mail of letters) {
      const { to: key, type } = mail.envelope;
      if (this.livesHere(mail.envelope)) items.push({ key, type, mail, timer: null });
      else mail.ack();
    }
  }

  /** Time since this owner first saw it: the clocks of the stream and of this machine are not compared. */
  private knownForMs({ id }: Envelope): number {
    const now = this.deps.clock.now();
    if (this.unknownVersions.size >= MAX_UNKNOWN_VERSIONS) this.unknownVersions.clear();
    const since = this.unknownVersions.get(id) ?? now;
    this.unknownVersions.set(id, since);
    return now - since;
  }

  private livesHere({ to, type }: Envelope): boolean {
    const isKnown = this.defOf(to) !== undefined && isInPartition(to, this.part);
    if (!isKnown) this.deps.log.error({ to, type }, 'no actor of this kind lives here; message dropped');
    return isKnown;
  }

  /** Whether its actor understands its version. A message without an actor is dropped later. */
  private isReadable({ to, v }: Envelope): boolean {
    const def = this.defOf(to);
    return def === undefined || (v <= def.version && v >= def.version - 1);
  }

  private defOf(key: ActorKey): ActorDef<unknown, unknown> | undefined {
    return this.deps.defs.get(parseActorKey(key).kind);
  }

  /** One transaction for all items. An item that is refused goes alone, and the partition goes on in every case. */
  private async drain(items: Item[]): Promise<void> {
    const readable: Item[] = [];
    for (const item of items) {
      if (this.isQuarantined(item.key)) item.mail?.ack();
      else if (item.mail !== null && !this.isReadable(item.mail.envelope)) await this.refuse(item);
      else readable.push(item);
    }
    if (this.carefulItems > 0) await this.drainCarefully(readable);
    else await this.handler.handle(readable);
  }

  /**
   * The owners before this one have ended, perhaps by a message: each actor's turn is marked before it begins. A mark that
   * is found names the turn in which an owner died.
   */
  private async drainCarefully(items: Item[]): Promise<void> {
    const { store } = this.deps;
    for (const [key, group] of groupByKey(items)) {
      const kills = this.marks.get(key) ?? 0;
      for (const turn of kills < KILLS_BEFORE_ALONE ? [group] : group.map((item) => [item])) {
        await store.mark(this.part, key, kills + 1);
        try {
          if (kills >= KILLS_BEFORE_DEAD_LETTER && turn[0] === group[0]) await this.dropUnread(turn[0]!, kills);
          else await this.handler.handle(turn);
        } finally {
          // This process is alive: the failed turn did not end it.
          await store.mark(this.part, key, null);
        }
        this.marks.delete(key);
        this.carefulItems -= turn.length;
      }
    }
  }

  private async dropUnread(item: Item, kills: number): Promise<void> {
    const { key, type } = item;
    const error = `${kills} processes ended while they handled it`;
    this.deps.log.error({ key, type, kills }, 'message ends the processes that handle it: dead letter');
    await this.handler.commitDeadLetter(item, { type, error }, 'INTERNAL_KILLER');
  }

  /** A message that no owner could read in all that time becomes a dead letter, which an operator may send again. */
  private async refuse(item: Item): Promise<void> {
    const mail = item.mail!;
    const { from, n, type, v } = mail.envelope;
    try {
      await this.activate([item.key]);
      const last = this.actors.get(item.key)!.cursors.get(from) ?? 0;
      // A pair message out of order has come before, or comes again: its sender repeats messages that are not confirmed.
      if (n !== null && n !== last + 1) return mail.ack();
      this.deps.log.error({ key: item.key, type, v }, 'message of an unknown version: dead letter');
      const error = `version ${v} of ${type} was known to no owner for 15 minutes`;
      await this.handler.commitDeadLetter(item, { type, error }, 'INTERNAL_VERSION');
    } catch (error) {
      this.forget([item]);
      throw error;
    }
  }

  /** Marks the actor's own row, its timers and its job as over. Nothing of its data is needed for that. */
  private async endActor(item: Item, error: string): Promise<void> {
    await this.deps.store.endActor(this.part, this.epoch, { key: item.key, type: item.type, error });
    item.mail?.ack();
  }

  private quarantine(item: Item): void {
    this.quarantined.set(item.key, this.deps.clock.now() + QUARANTINE_MS);
    item.mail?.ack();
  }

  private isQuarantined(key: ActorKey): boolean {
    const until = this.quarantined.get(key);
    if (until === undefined) return false;
    if (until > this.deps.clock.now()) return true;
    this.quarantined.delete(key);
    return false;
  }

  private forget(items: readonly Item[]): void {
    this.actors.discard(items.map((item) => item.key));
  }

  private async commit(items: readonly Item[], poison: PoisonNote | null): Promise<void> {
    const batches = await this.prepare(items, poison);
    const turn = batches.length === 0 ? null : new Turn(batches, this.turnDeps());
    let timers: TimerChange[] = [];
    const orphans = items.filter(
      (item) => item.timer !== null && !batches.some((entry) => entry.liveActor.key === item.key),
    );
    if (turn !== null || orphans.length > 0) {
      const head = turn?.head() ?? { part: this.part, epoch: this.epoch, fences: [], candidates: [], seeds: [] };
      const spans = this.commitSpans(batches);
      const committing = this.deps.store.commitTurn(head, (answers) => {
        const writes = turn?.decide(answers) ?? {
          actors: [],
          outbox: [],
          cursors: [],
          timers: [],
          rows: [],
          deadLetters: [],
        };
        for (const item of orphans) writes.timers.push({ key: item.key, name: item.timer!, inMs: null });
        timers = writes.timers;
        return writes;
      });
      await ended(committing, spans).catch((error: unknown) => {
        if (!isWithoutEffect(error)) this.outbox.doubt();
        throw error;
      });
    }
    for (const item of items) item.mail?.ack();
    if (turn !== null) this.conclude(turn, batches, timers);
  }

  /** The turns of all actors are one transaction, and each recorded turn shows it. Inner spans first. */
  private commitSpans(batches: readonly ActorBatch[]): TraceSpan[] {
    const recorded = batches.filter(({ span }) => span !== NO_SPAN);
    const attributes = { 'db.system.name': 'postgresql', 'troupe.actors': batches.length };
    const commits = recorded.map(({ span }) =>
      this.tracer.span('commit turn', span.context, { kind: 'client', attributes }),
    );
    return [...commits, ...recorded.map(({ span }) => span)];
  }

  private get tracer(): Tracer {
    return this.deps.tracer ?? NO_TRACES;
  }

  private conclude(turn: Turn, batches: ActorBatch[], timers: readonly TimerChange[]): void {
    const now = this.deps.clock.now();
    for (const { liveActor } of batches) {
      liveActor.rev += 1;
      this.actors.touch(liveActor, now);
      if (liveActor.terminal) this.actors.discard([liveActor.key]);
    }
    for (const { key, name, inMs } of timers) {
      if (inMs === null) this.timers.clear(key, name);
      else if (inMs <= this.deps.options.timerHorizonMs) this.timers.set(key, name, now + inMs);
      else this.timers.clear(key, name);
    }
    this.outbox.publish(turn.afterCommit.outbox);
    this.levels.publish(turn.afterCommit.level);
    for (const note of turn.afterCommit.notes) this.deps.bus.notify(note.subject, note.msg);
    for (const { host, verdict } of turn.afterCommit.verdicts) this.deps.bus.tell(host, verdict);
    for (const counters of turn.afterCommit.mended)
      this.deps.log.error(counters, 'the counters of a job were wrong and have been set right');
  }

  private turnDeps(): ConstructorParameters<typeof Turn>[1] {
    const next = () => this.epoch * EPOCH_STRIDE + ++this.counter;
    const ctx: TurnContext = { now: this.deps.clock.now(), wallMs: this.deps.clock.wall(), nextGen: next };
    return {
      part: this.part,
      epoch: this.epoch,
      ctx,
      nextOutboxId: next,
      nextLevelId: () => `v.${this.part}.${next()}`,
    };
  }

  /** Activates the actors of a drain and turns its items into batches; drops items that need no turn. */
  private async prepare(items: readonly Item[], poison: PoisonNote | null): Promise<ActorBatch[]> {
    const groups = groupByKey(items);
    await this.activate([...groups.keys()]);
    const batches: ActorBatch[] = [];
    for (const [key, group] of groups) {
      const liveActor = this.actors.get(key)!;
      const def = this.defOf(key)!;
      if (liveActor.terminal && !wakes(group, def) && !this.revive(liveActor, def)) continue;
      const entry: ActorBatch = {
        liveActor,
        def,
        batch: [],
        accepted: new Map(),
        firedTimers: [],
        failure: null,
        deadLetters: [],
        span: NO_SPAN,
      };
      if (poison === null) await this.asHandlerError(key, () => this.fill(entry, group));
      else this.fillPoison(entry, group, poison);
      if (liveActor.isErased) failErased(entry);
      if (
        entry.batch.length === 0 &&
        entry.failure === null &&
        entry.deadLetters.length === 0 &&
        entry.firedTimers.length === 0
      )
        continue;
      await this.asHandlerError(key, () => this.remember(liveActor, def));
      entry.span = turnSpan(
        this.tracer,
        entry,
        group.flatMap(({ mail }) => mail?.envelope.trace ?? []),
      );
      batches.push(entry);
    }
    return batches;
  }

  private revive(liveActor: LiveActor, def: ActorDef<unknown, unknown>): boolean {
    if (!def.restarts) return false;
    liveActor.state = def.init(liveActor.key, liveActor.state);
    liveActor.memory = null;
    liveActor.terminal = false;
    liveActor.isErased = false;
    return true;
  }

  private async fill(entry: ActorBatch, group: Item[]): Promise<void> {
    const urgent: Incoming[] = [];
    for (const item of group) {
      if (item.timer !== null) {
        entry.firedTimers.push(item.timer);
        entry.batch.push({ from: 'timer', body: { type: 'Timer', name: item.timer } });
        continue;
      }
      const { envelope } = item.mail!;
      if (PRIORITY_TYPES.has(envelope.type)) urgent.push({ from: envelope.from, body: envelope.body });
      else if (envelope.n === null) entry.batch.push({ from: envelope.from, body: envelope.body });
      else await this.acceptPair(entry, envelope);
    }
    if (urgent.length > 0) entry.batch.unshift(...urgent);
  }

  private fillPoison(entry: ActorBatch, group: Item[], poison: PoisonNote): void {
    const item = group[0]!;
    const envelope = item.mail?.envelope ?? null;
    if (item.timer !== null) entry.firedTimers.push(item.timer);
    entry.deadLetters.push({ key: entry.liveActor.key, type: poison.type, envelope, error: poison.error });
    if (entry.def.vital.includes(poison.type))
      entry.failure = { reason: poison.error.split('\n')[0]!, lost: envelope?.body ?? null };
    if (envelope !== null && envelope.n !== null) {
      entry.accepted.set(envelope.from, envelope.n);
      entry.liveActor.cursors.set(envelope.from, envelope.n);
    }
  }

  /** Accepts the next number, ignores old ones, and reads missing ones from the sender's outbox table. */
  private async acceptPair(entry: ActorBatch, envelope: Envelope): Promise<void> {
    const { cursors } = entry.liveActor;
    const last = cursors.get(envelope.from) ?? 0;
    if (envelope.n! <= last) return;
    const missing =
      envelope.n! === last + 1 ? [envelope] : await this.deps.store.loadPairs(entry.liveActor.key, envelope.from, last);
    for (const next of missing) {
      if (next.n !== (cursors.get(envelope.from) ?? 0) + 1) return;
      cursors.set(envelope.from, next.n);
      entry.accepted.set(envelope.from, next.n);
      entry.batch.push({ from: next.from, body: next.body });
    }
  }

  private async activate(keys: ActorKey[]): Promise<void> {
    const missing = keys.filter((key) => this.actors.get(key) === undefined).sort();
    if (missing.length === 0) return;
    const rows = await this.deps.store.activate(this.part, this.epoch, missing);
    const cursors = await this.deps.store.loadCursors(missing);
    const now = this.deps.clock.now();
    for (const row of rows) {
      const stored = row.state as StoredState | null;
      const state = stored === null ? asHandlerError(row.key, () => this.defOf(row.key)!.init(row.key)) : stored.s;
      const liveActor = this.actors.add(row, state, now, this.timeOf(row, stored));
      for (const [to, n] of Object.entries(stored?.sent ?? {})) liveActor.sent.set(to as ActorKey, n);
      liveActor.isErased = row.terminal && !asHandlerError(row.key, () => this.defOf(row.key)!.isTerminal(state));
      liveActor.trace = stored?.trace ?? null;
    }
    for (const { to, from, n } of cursors) this.actors.get(to)?.cursors.set(from, n);
  }

  /**
   * An actor's time goes on from its last turn, by the time that has passed on the store's clock, in bounds: a store whose clock
   * was set makes it jump by an hour at most, never back.
   */
  private timeOf({ ageMs }: ActorRow, stored: StoredState | null): number {
    if (stored?.t === undefined) return this.deps.clock.wall();
    return stored.t + Math.max(0, Math.min(ageMs, MAX_AGE_MS));
  }

  /** A refusal by the store because of an actor's data is that actor's fault. @throws HandlerError */
  private async asHandlerError(key: ActorKey, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw error instanceof ContentError ? new HandlerError(key, { cause: error }) : error;
    }
  }

  private async remember(liveActor: LiveActor, def: ActorDef<unknown, unknown>): Promise<void> {
    const need = asHandlerError(liveActor.key, () => def.need(liveActor));
    if (need === null && liveActor.memory !== null) return;
    const { store } = this.deps;
    const loaded =
      need === null ? null : await store.loadJobMemory(need.jobNo, need.ready, need.history, need.countUpTo);
    liveActor.memory = asHandlerError(liveActor.key, () =>
      def.remember(liveActor.state, loaded, liveActor.memory, this.deps.clock.now() + liveActor.timeOffset),
    );
  }

  private async tend(): Promise<void> {
    const now = this.deps.clock.now();
    if (now >= this.timersReloadAt) await this.reloadTimers();
    if (now >= this.passivateAt) {
      this.passivateAt = now + 5_000;
      this.actors.passivate(now, this.deps.options.passivateMs);
      await this.outbox.tend(true);
      return;
    }
    await this.outbox.tend();
  }

  private async reloadTimers(): Promise<void> {
    const { clock, options, store } = this.deps;
    this.timersReloadAt = clock.now() + options.timerReloadMs;
    const rows = await store.loadTimers(this.part, options.timerHorizonMs);
    const now = clock.now();
    for (const { key, name, dueInMs } of rows) this.timers.set(key, name, now + Math.max(0, dueInMs));
  }
}
