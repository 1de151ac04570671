/** A tiny actor that writes down what it is told, and the world around it: what the specs of this folder run on. */
import {
  partitionOf,
  type ActorKey,
  type ActorKind,
  type ActorMessage,
  type Envelope,
  type Sender,
  type Tracer,
} from '@troupe/contracts';
import { NOTHING_PLANNED, type ActorDef, type Effect, type Incoming } from './actor.js';
import type { Clock, RuntimeLog } from './clock.js';
import { Partition, PARTITION_DEFAULTS } from './partition.js';
import type { TurnAnswers, TurnHead, TurnWrites } from './ports.js';
import { Random } from './simulation/random.js';
import { SimBus } from './simulation/sim-bus.js';
import { SimClock } from './simulation/sim-clock.js';
import { SimStore } from './simulation/sim-store.js';
import type { StoredState } from './turn.js';

export type Order =
  | { type: 'Note'; text: string }
  | { type: 'Tell'; to: ActorKey; text: string }
  | { type: 'Shout'; to: ActorKey; text: string }
  | { type: 'Remind'; name: string; inMs: number }
  | { type: 'Start'; bad: boolean }
  | { type: 'Bad' }
  | { type: 'Cancel' }
  | { type: 'Look' }
  | { type: 'Work'; id: string }
  | { type: 'End' }
  | { type: 'Wake' };

export interface Notes {
  notes: string[];
  failed: string | null;
  /** The message that could not be handled when it failed. */
  lost?: unknown;
  over: boolean;
  /** When it looked at the clock. */
  times?: number[];
}

/** `onTry` hears of every message that a handler sees. */
export function noteActor(
  kind: ActorKind,
  restarts: boolean,
  onTry: (order: Order) => void = () => {},
): ActorDef<Notes, null> {
  return {
    kind,
    version: 2,
    vital: ['Start'],
    wakesOn: ['Wake'],
    restarts,
    init: () => ({ notes: [], failed: null, over: false }),
    need: () => null,
    remember: () => null,
    plan: () => NOTHING_PLANNED,
    finish: ({ state }, batch, _answers, { now }) => batch.flatMap((incoming) => obey(state, incoming, onTry, now)),
    isTerminal: (state) => state.over,
    fail: ({ state }, reason, _ctx, lost) => {
      state.failed = reason;
      state.lost = lost;
      state.over = true;
      return [];
    },
  };
}

function obey(state: Notes, { body }: Incoming, onTry: (order: Order) => void, now: number): Effect[] {
  if (body.type === 'Timer') {
    if (body.name !== 'heartbeat') state.notes.push(`timer ${body.name}`);
    return [];
  }
  const order = body as unknown as Order;
  onTry(order);
  switch (order.type) {
    case 'Note':
      state.notes.push(order.text);
      return [];
    case 'Tell':
      return [{ t: 'send', to: order.to, cls: 'pair', msg: message({ type: 'Note', text: order.text }) }];
    case 'Look':
      state.times = [...(state.times ?? []), now];
      return [];
    case 'Shout':
      return [{ t: 'send', to: order.to, cls: 'level', msg: message({ type: 'Note', text: order.text }) }];
    case 'Remind':
      return [{ t: 'timer', name: order.name, inMs: order.inMs }];
    case 'Work':
      return [{ t: 'work', cls: 'kick', prio: 'hi', id: order.id, msg: ROBOTS }];
    case 'Start':
      if (order.bad) throw new Error('bad start');
      return [];
    case 'Bad':
      throw new Error('bad order');
    case 'Cancel':
      state.notes.push('cancel');
      return [];
    case 'End':
      state.over = true;
      return [];
    case 'Wake':
      if (state.failed !== null) return [];
      state.over = false;
      state.notes.push('awake');
      return [];
  }
}

const ROBOTS = {
  type: 'Kick',
  task: 'robots',
  actor: 'domain/h',
  host: 'h',
  url: 'http://h/robots.txt',
  agent: 'x',
} as const;

export function message(order: Order): ActorMessage {
  return order as unknown as ActorMessage;
}

export const SILENT: RuntimeLog = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** A store that refuses turns on demand. */
export class NoteStore extends SimStore {
  /** Why a turn is refused, null for one that is not. */
  refuses: (writes: TurnWrites) => Error | null = () => null;
  /** Transactions, refused ones included. */
  transactions = 0;
  isAway = false;
  /** Why an actor cannot even be ended. */
  refusesGrave: Error | null = null;

  override commitTurn(head: TurnHead, decide: (answers: TurnAnswers) => TurnWrites): Promise<void> {
    this.transactions += 1;
    return super.commitTurn(head, (answers) => {
      const writes = decide(answers);
      const refusal = this.refuses(writes);
      if (refusal !== null) throw refusal;
      return writes;
    });
  }

  override endActor(...[part, epoch, ended]: Parameters<SimStore['endActor']>): Promise<void> {
    if (this.refusesGrave !== null) return Promise.reject(this.refusesGrave);
    return super.endActor(part, epoch, ended);
  }

  override probe(): Promise<void> {
    return this.isAway ? Promise.reject(new Error('the store is away')) : Promise.resolve();
  }
}

/** A bus that loses messages on demand. */
export class NoteBus extends SimBus {
  isLost: (envelope: Envelope) => boolean = () => false;
  readonly sent: Envelope[] = [];

  override publishActor(envelope: Envelope): Promise<void> {
    this.sent.push(envelope);
    return this.isLost(envelope) ? Promise.resolve() : super.publishActor(envelope);
  }
}

export class NoteWorld {
  readonly clock = new SimClock();
  readonly store = new NoteStore(this.clock);
  readonly bus = new NoteBus(new Random(1), this.clock);
  readonly tried: Order[] = [];
  /** Pace of owners made from now on: by the virtual clock every wait is time that passes. */
  paceMs = 0;
  /** Tracer of owners made from now on; undefined: nothing is recorded. */
  tracer: Tracer | undefined;
  private sequence = 0;

  /** A new owner of the actor's partition; its version may be that of an older release. */
  async own(key: ActorKey, version = 2, clock: Clock = this.clock): Promise<Partition> {
    const part = partitionOf(key);
    const onTry = (order: Order) => void this.tried.push(order);
    const defs = [noteActor('crawl', false, onTry), noteActor('domain', true, onTry)].map((def) => ({
      ...def,
      version,
      keepsTrace: def.kind === 'crawl',
    }));
    const partition = new Partition(part, await this.store.mintEpoch(part), {
      store: this.store,
      bus: this.bus,
      clock,
      log: SILENT,
      defs: new Map(defs.map((def) => [def.kind, def as never])),
      options: { ...PARTITION_DEFAULTS, paceMs: this.paceMs },
      tracer: this.tracer,
    });
    await partition.open();
    return partition;
  }

  async send(to: ActorKey, order: Order, rest: Partial<Envelope> = {}): Promise<void> {
    const id = `t.${++this.sequence}`;
    await this.bus.publishActor({
      id,
      type: order.type,
      v: 2,
      from: 'gw/test',
      to,
      n: null,
      body: message(order),
      ...rest,
    });
  }

  /** Runs until the mailbox is empty, and once more. */
  async run(partition: Partition): Promise<void> {
    for (let steps = 0; steps < 50; steps++) {
      await partition.step();
      if (!this.bus.hasMail(partition.part)) break;
    }
    await partition.step();
  }

  stateOf(key: ActorKey): Notes {
    const row = this.store.actors.get(key);
    return (JSON.parse(row?.state ?? '{"s":null}') as StoredState).s as Notes;
  }

  revOf(key: ActorKey): number {
    return this.store.actors.get(key)?.rev ?? 0;
  }

  timersOf(key: ActorKey): string[] {
    return [...this.store.timers.values()].filter((timer) => timer.key === key).map((timer) => timer.name);
  }

  /** Pair messages in the sender's outbox. */
  pairsOf(from: Sender): number[] {
    return [...this.store.outbox.values()].flatMap((rows) =>
      [...rows.values()].filter((row) => row.from === from && row.n !== null).map((row) => row.n!),
    );
  }
}

/** Two keys of a kind in two partitions. */
export function keysInTwoPartitions(kind: ActorKind): [ActorKey, ActorKey] {
  const first: ActorKey = `${kind}/a0`;
  for (let i = 1; ; i++) {
    const second: ActorKey = `${kind}/b${i}`;
    if (partitionOf(second) !== partitionOf(first)) return [first, second];
  }
}
