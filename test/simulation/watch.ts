/** What is looked at in every turn that commits: actors' own time, and the fairness of pools. */
import type { ActorDef, TurnHead, TurnWrites } from '@troupe/actors';
import { parseActorKey, type ActorKey } from '@troupe/contracts';
import type { Pool } from '@troupe/politeness';
import type { Stage } from './stage.js';

/** One turn of an actor, as it was decided. */
interface Glance {
  now: number;
  pool: PoolView | null;
}

interface PoolView {
  /** Tokens that are out, and of whom. */
  tokens: Map<string, string>;
  waiting: Set<string>;
}

/** Of places given to others while somebody waits: their lanes may be short, and his may have been long. */
const MAX_PASSED_OVER = 12;

export class Watch {
  private readonly glances = new Map<ActorKey, Glance>();
  private readonly times = new Map<ActorKey, number>();
  private readonly pools = new Map<ActorKey, PoolView>();
  /** How often somebody who waits was passed over, by pool and name. */
  private readonly passedOver = new Map<string, number>();
  mostPassedOver = 0;

  constructor(private readonly stage: Stage) {
    stage.store.onCommit = (head, writes) => this.committed(head, writes);
  }

  over(def: ActorDef<unknown, unknown>): ActorDef<unknown, unknown> {
    const finish: typeof def.finish = (activation, batch, answers, ctx) => {
      const effects = def.finish(activation, batch, answers, ctx);
      const { pool } = activation.state as { pool?: Pool };
      this.glances.set(activation.key, {
        now: ctx.now,
        pool: pool === undefined ? null : viewOf(pool, def.kind === 'team' ? (name) => name : (_name, team) => team),
      });
      return effects;
    };
    return { ...def, finish };
  }

  private committed({ part, epoch }: TurnHead, { actors, rows, outbox }: TurnWrites): void {
    for (const { key } of actors) this.look(key);
    if (!this.stage.isTraced) return;
    this.stage.note(`committed by partition ${part}, epoch ${epoch}:`, {
      actors: actors.map(({ key, rev }) => `${key} rev ${rev + 1}`),
      rows,
      outbox: outbox.map(({ id }) => id),
    });
  }

  private look(key: ActorKey): void {
    const glance = this.glances.get(key);
    if (glance === undefined) return;
    this.glances.delete(key);
    const last = this.times.get(key) ?? -Infinity;
    // I18
    if (glance.now < last) this.stage.fail('I18', `the time of ${key} went back by ${last - glance.now} ms`);
    this.times.set(key, glance.now);
    if (glance.pool !== null) this.checkFairness(key, glance.pool);
  }

  /** I14: nobody who waits is passed over again and again. Lost lanes make debts, which a gentle world has none of. */
  private checkFairness(key: ActorKey, view: PoolView): void {
    const before = this.pools.get(key);
    this.pools.set(key, view);
    if (before === undefined) return;
    const given = [...view.tokens].filter(([token]) => !before.tokens.has(token)).map(([, owner]) => owner);
    for (const name of new Set([...before.waiting, ...view.waiting])) {
      const id = `${key} ${name}`;
      const isPassedOver = before.waiting.has(name) && view.waiting.has(name) && !given.includes(name);
      const count = isPassedOver ? (this.passedOver.get(id) ?? 0) + given.length : 0;
      this.passedOver.set(id, count);
      this.mostPassedOver = Math.max(this.mostPassedOver, count);
      if (this.stage.isGentle && count > MAX_PASSED_OVER)
        this.stage.fail('I14', `${name} was passed over ${count} times by ${parseActorKey(key).kind} ${key}`);
    }
  }
}

function viewOf({ tokens, claimants }: Pool, nameOf: (claimant: string, team: string) => string): PoolView {
  const waiting = new Set<string>();
  for (const [claimant, { want, team }] of Object.entries(claimants)) {
    const held = tokens.filter(({ owner }) => owner === claimant).length;
    if (want > held) waiting.add(nameOf(claimant, team));
  }
  const owners = tokens.map(({ i, gen, owner }) => [`${i} ${gen}`, nameOf(owner, claimants[owner]!.team)] as const);
  return { tokens: new Map(owners), waiting };
}
