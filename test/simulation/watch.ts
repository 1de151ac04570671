/** What is looked at in every turn that commits: actors' own time, and the fairness of pools. */
import type { ActorDef, TurnHead, TurnWrites } from '@troupe/actors';
import type { ActorKey } from '@troupe/contracts';
import type { Pool } from '@troupe/politeness';
import type { Stage } from './stage.js';

/** One turn of an actor, as it was decided. */
interface Glance {
  now: number;
  pool: PoolView | null;
}

interface PoolView {
  /** Who wants more than it has. */
  waiting: Set<string>;
  /** Lane time so far, ms. */
  ranMs: Map<string, number>;
}

/** Lane time of others while somebody waits: the 30 s that it may owe, and a few lanes. */
const MAX_PASSED_OVER_MS = 35_000;

export class Watch {
  private readonly glances = new Map<ActorKey, Glance>();
  private readonly times = new Map<ActorKey, number>();
  private readonly pools = new Map<ActorKey, PoolView>();
  /** Lane time of others since somebody began to wait, by pool and name. */
  private readonly passedOver = new Map<string, number>();
  mostPassedOverMs = 0;

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
    for (const name of view.waiting) {
      const id = `${key} ${name}`;
      const usedMs = usedByOthers(name, before, view);
      const passedMs =
        before.waiting.has(name) && ranSince(name, before, view) === 0 ? (this.passedOver.get(id) ?? 0) + usedMs : 0;
      this.passedOver.set(id, passedMs);
      this.mostPassedOverMs = Math.max(this.mostPassedOverMs, passedMs);
      if (this.stage.isSparing && passedMs > MAX_PASSED_OVER_MS)
        this.stage.fail('I14', `${name} waits for ${key} while others used it for ${passedMs} ms`);
    }
  }
}

function ranSince(name: string, before: PoolView, after: PoolView): number {
  return Math.max(0, (after.ranMs.get(name) ?? 0) - (before.ranMs.get(name) ?? after.ranMs.get(name) ?? 0));
}

function usedByOthers(name: string, before: PoolView, after: PoolView): number {
  const others = [...after.ranMs.keys()].filter((other) => other !== name);
  return others.reduce((sum, other) => sum + ranSince(other, before, after), 0);
}

function viewOf({ tokens, claimants }: Pool, nameOf: (claimant: string, team: string) => string): PoolView {
  const view: PoolView = { waiting: new Set(), ranMs: new Map() };
  for (const [claimant, { want, team, ranMs }] of Object.entries(claimants)) {
    const name = nameOf(claimant, team);
    view.ranMs.set(name, (view.ranMs.get(name) ?? 0) + ranMs);
    if (want > 0 && !tokens.some(({ owner }) => owner === claimant)) view.waiting.add(name);
  }
  return view;
}
