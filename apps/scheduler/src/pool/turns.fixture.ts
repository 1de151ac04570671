/** Turns of an actor that owns a pool, without a runtime. */
import type { ActorMessage, Demand, Grant } from '@troupe/contracts';
import type { ActorDef, Effect, Incoming } from '@troupe/actors';
import type { ActorKey } from '@troupe/contracts';

export class PoolTurns<S> {
  now = 1_000_000;
  state: S;
  private gen = 0;
  private wallMs = 1_764_000_000_000;
  private seenNow = this.now;
  private v = 0;

  constructor(
    private readonly def: ActorDef<S, null>,
    private readonly key: ActorKey,
  ) {
    this.state = def.init(key);
  }

  turn(...bodies: (ActorMessage | { type: 'Timer'; name: string })[]): Effect[] {
    const batch = bodies.map((body) => ({ from: 'w/x', body }) as Incoming);
    this.wallMs += this.now - this.seenNow;
    this.seenNow = this.now;
    const ctx = { now: this.now, wallMs: this.wallMs, nextGen: () => ++this.gen };
    return this.def.finish(
      { key: this.key, state: this.state, memory: null },
      batch,
      { admitted: new Set(), seeds: [], found: null },
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

  /** Its own timer until then, with something else at each step; what came of it. */
  wait(ms: number, timer: string, more: () => ActorMessage): Effect[] {
    const effects: Effect[] = [];
    for (const end = this.now + ms; this.now < end;) {
      this.now = Math.min(end, this.now + 30_000);
      effects.push(...this.turn(more(), { type: 'Timer', name: timer }));
    }
    return effects;
  }

  /** Another process owns it from here on, with a clock of its own. */
  moveTo(now: number): void {
    this.gen = Math.floor(this.gen / 2 ** 32 + 1) * 2 ** 32;
    this.now = now;
    this.seenNow = now;
  }

  /** A message has come to an actor that had ended. */
  startAnew(): void {
    this.state = this.def.init(this.key, JSON.parse(JSON.stringify(this.state)) as S);
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
