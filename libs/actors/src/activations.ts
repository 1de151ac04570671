/** Living actors of a partition: state and derived memory, cached between turns, thrown away whenever a turn fails. */
import type { ActorKey, Sender, TraceParent } from '@troupe/contracts';
import type { Activation } from './actor.js';
import type { ActorRow } from './ports.js';

/** The trace of a job, part of its actor's stored state. */
export interface KeptTrace {
  parent: TraceParent;
  /** Turns that are still recorded: a trace of a hundred thousand pages is of no use. */
  left: number;
}

export interface LiveActor extends Activation<unknown, unknown> {
  rev: number;
  terminal: boolean;
  /** It was over, and its state is gone: what wakes others fails it, and it does not live again by that. */
  isErased: boolean;
  /** Highest pair number accepted per sender. */
  cursors: Map<Sender, number>;
  /** Highest pair number sent per receiver. */
  sent: Map<ActorKey, number>;
  /** When the runtime's heartbeat timer fires; 0 = not known. */
  heartbeatAt: number;
  usedAt: number;
  /** Its own time less this process's clock. */
  timeOffset: number;
  /** Trace of the message that began it; null: not recorded, or nothing it keeps. */
  trace: KeptTrace | null;
}

export class Activations {
  private readonly liveActors = new Map<ActorKey, LiveActor>();

  constructor(private readonly capacity: number) {}

  get(key: ActorKey): LiveActor | undefined {
    return this.liveActors.get(key);
  }

  /** @param time the actor's own, at `now` */
  add(row: ActorRow, state: unknown, now: number, time: number): LiveActor {
    const liveActor: LiveActor = {
      key: row.key,
      state,
      memory: null,
      rev: row.rev,
      terminal: row.terminal,
      isErased: false,
      cursors: new Map(),
      sent: new Map(),
      heartbeatAt: 0,
      usedAt: now,
      timeOffset: time - now,
      trace: null,
    };
    this.liveActors.set(row.key, liveActor);
    return liveActor;
  }

  discard(keys: Iterable<ActorKey>): void {
    for (const key of keys) this.liveActors.delete(key);
  }

  /** Most recently used last, so that the first entries are the ones to go. */
  touch(liveActor: LiveActor, now: number): void {
    liveActor.usedAt = now;
    this.liveActors.delete(liveActor.key);
    this.liveActors.set(liveActor.key, liveActor);
  }

  /** Forgets actors idle for `idleMs`, and the least recently used above the capacity. */
  passivate(now: number, idleMs: number): void {
    for (const [key, liveActor] of this.liveActors) {
      if (this.liveActors.size <= this.capacity && now - liveActor.usedAt < idleMs) return;
      this.liveActors.delete(key);
    }
  }

  get size(): number {
    return this.liveActors.size;
  }
}
