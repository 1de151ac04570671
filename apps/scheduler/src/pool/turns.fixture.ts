/** Turns of an actor that owns a pool, without a runtime. */
import type { ActorMessage, Demand, Grant } from '@troupe/contracts';
import type { ActorDef, Effect, Incoming } from '@troupe/actors';
import type { ActorKey } from '@troupe/contracts';

export class PoolTurns<S> {
  now = 1_000_000;
  readonly state: S;
  private gen = 0;
  private v = 0;

  constructor(
    private readonly def: ActorDef<S, null>,
    private readonly key: ActorKey,
  ) {
    this.state = def.init(key);
  }

  turn(...bodies: (ActorMessage | { type: 'Timer'; name: string })[]): Effect[] {
    const batch = bodies.map((body) => ({ from: 'w/x', body }) as Incoming);
    const ctx = { now: this.now, wallMs: this.now, nextGen: () => ++this.gen };
    return this.def.finish(
      { key: this.key, state: this.state, memory: null },
      batch,
      { admitted: new Set(), seeds: [] },
      ctx,
    );
  }

  /** Nothing but its own timer, every half minute. */
  rest(ms: number): void {
    for (const end = this.now + ms; this.now < end;) {
      this.now += 30_000;
      this.turn({ type: 'Timer', name: 'check' });
    }
  }

  get isOver(): boolean {
    return this.def.isTerminal(this.state);
  }

  demand(claimant: string, want: number, rest: Partial<Demand> = {}): Demand {
    return {
      type: 'Demand',
      claimant,
      replyTo: claimant,
      team: 't',
      want,
      held: [],
      seenV: 0,
      ranMs: 0,
      v: ++this.v,
      robotsAgent: null,
      origin: null,
      ...rest,
    };
  }
}

/** Grants by the address they are sent to. */
export function grantsOf(effects: Effect[]): Record<string, Grant> {
  return Object.fromEntries(
    effects.flatMap((effect) => (effect.t === 'send' ? [[effect.to, effect.msg as Grant] as const] : [])),
  );
}
