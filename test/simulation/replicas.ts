/**
 * Partitions that are run by replicas of the runtime, in virtual time: replicas die, freeze and go on, lose leases, get no
 * answers, and new ones come.
 */
import {
  ActorRuntime,
  CrashError,
  type ActorDef,
  type ActorStore,
  type Bus,
  type Mailbox,
  type ProcessClock,
} from '@troupe/actors';
import { PARTITIONS } from '@troupe/contracts';
import { Leases } from './leases.js';
import { clockOf, SILENT, type Release, type Schedulers } from './owners.js';
import type { Stage } from './stage.js';

/** No partition may be without an owner for longer, while replicas live. */
const MAX_ORPHANED_MS = 20_000;
/** What a replica may go on for with a lease that is another one's. */
const MAX_BELIEVED_MS = 15_000;
const IDLE_MS = 10_000;

/** Whether a process runs. What it waits for comes when it runs again, or never. */
class Gate {
  private state: 'open' | 'shut' | 'dead' = 'open';
  private waiting: (() => void)[] = [];

  get isOpen(): boolean {
    return this.state === 'open';
  }

  pass(): Promise<void> {
    if (this.state === 'open') return Promise.resolve();
    return new Promise((go) => void (this.state === 'shut' && this.waiting.push(go)));
  }

  shut(): void {
    this.state = 'shut';
  }

  open(): void {
    if (this.state === 'dead') return;
    this.state = 'open';
    for (const go of this.waiting.splice(0)) go();
  }

  die(): void {
    this.state = 'dead';
    this.waiting = [];
  }
}

interface Replica {
  id: string;
  runtime: ActorRuntime;
  gate: Gate;
  clock: ProcessClock;
  version: number;
  thawsAt: number;
}

const COUNT = 2;

export class Replicas implements Schedulers {
  private replicas: Replica[] = [];
  private readonly leases: Leases;
  private born = 0;
  private isStarted = false;
  /** Since when partitions have no owner, or two that believe in it. */
  private readonly orphanedAt = new Map<number, number>();
  private readonly disputedAt = new Map<string, number>();
  private checkedAt = 0;

  constructor(
    private readonly stage: Stage,
    private readonly releaseNow: () => Release,
    private readonly noteOwner: (epoch: number, part: number, version: number) => void,
  ) {
    this.leases = new Leases(stage);
  }

  async step(): Promise<void> {
    const { stage } = this;
    if (!this.isStarted) await this.begin();
    stage.time.advance(stage.random.int(0, 30));
    for (const replica of this.replicas) if (stage.time.now() >= replica.thawsAt) replica.gate.open();
    if (stage.faults.happens('wall set', 0.001)) {
      const hours = stage.faults.of('wall set').int(-1, 1);
      stage.random.pick(this.replicas).clock.setWall(hours * 3_600_000);
    }
    await settled();
    this.check();
  }

  async trouble(): Promise<void> {
    const { faults, random, note } = this.stage;
    const roll = random.next();
    if (this.replicas.length === 0) return;
    const replica = random.pick(this.replicas);
    if (roll < 0.25 && faults.happens('dead replica', 1)) return this.kill(replica);
    if (roll < 0.5 && faults.happens('frozen replica', 1)) {
      replica.thawsAt = this.stage.time.now() + random.int(500, 12_000);
      replica.gate.shut();
      return note.call(this.stage, `replica ${replica.id} freezes until`, replica.thawsAt);
    }
    if (roll < 0.75 && faults.happens('lost lease', 1)) return this.leases.steal();
    if (faults.happens('unanswered lease', 1)) this.leases.fallSilent(random.int(500, 4_000));
  }

  upgrade(): void {
    const { version } = this.releaseNow();
    for (const replica of [...this.replicas]) if (replica.version !== version) void this.kill(replica);
  }

  /** In good order: each hands over what it has, and the last ones begin anew. */
  async succeed(): Promise<void> {
    const old = this.replicas;
    this.replicas = [];
    let left = old.length;
    for (const { gate, runtime } of old) {
      gate.open();
      void runtime.stop().then(() => (left -= 1));
    }
    await this.settle(30_000, () => left === 0);
    if (left > 0) this.stage.fail('I3', `${left} replicas do not come to their end`);
    await this.start();
    await this.settle(60_000, () => this.replicas[0]!.runtime.partitions.length === PARTITIONS);
    await this.settle(1_000, () => false);
    this.replicas[0]!.gate.die();
  }

  private async settle(maxMs: number, isDone: () => boolean): Promise<void> {
    for (let ms = 0; ms < maxMs && !isDone(); ms += 50) {
      this.stage.time.advance(50);
      await settled();
    }
  }

  private async begin(): Promise<void> {
    this.isStarted = true;
    for (let i = 0; i < COUNT; i++) await this.start();
  }

  private async start(): Promise<void> {
    const { stage } = this;
    const id = `s${++this.born}`;
    const gate = new Gate();
    const clock = clockOf(stage);
    const { version, defs } = this.releaseNow();
    const runtime = new ActorRuntime({
      id,
      store: this.storeOf(gate, version, stage.store),
      bus: this.busOf(gate, stage.bus),
      leases: gated(gate, this.leases.board(id)),
      clock: {
        now: () => clock.now(),
        wall: () => clock.wall(),
        sleep: (ms) => clock.sleep(ms).then(() => gate.pass()),
      },
      log: SILENT,
      defs: [...defs.values()] as unknown as ActorDef<never, never>[],
      options: { idleMs: IDLE_MS },
      random: () => stage.random.next(),
    });
    if (stage.mutation.losesOwnMail === true) Object.assign(runtime, { deliverHere: () => true });
    this.replicas.push({ id, runtime, gate, clock, version, thawsAt: 0 });
    stage.note(`replica ${id}, version ${version} begins`);
    await runtime.start();
  }

  private kill(replica: Replica): Promise<void> {
    this.stage.note(`replica ${replica.id} dies`);
    replica.gate.die();
    this.replicas.splice(this.replicas.indexOf(replica), 1);
    return this.start();
  }

  /** A simulated crash inside of the store or the bus is the end of the whole process. */
  private storeOf(gate: Gate, version: number, store: ActorStore): ActorStore {
    const mint: ActorStore['mintEpoch'] = async (part, owner) => {
      await gate.pass();
      const epoch = await store.mintEpoch(part, owner);
      this.noteOwner(epoch, part, version);
      return epoch;
    };
    return { ...gated(gate, store, (error) => this.fell(gate, error)), mintEpoch: mint };
  }

  private busOf(gate: Gate, bus: Bus): Bus {
    const open: Bus['openMailbox'] = async (part, epoch) => {
      await gate.pass();
      const mailbox = await bus.openMailbox(part, epoch);
      return mailboxOf(gate, mailbox);
    };
    return {
      ...gated(gate, bus, (error) => this.fell(gate, error)),
      notify: (subject, msg) => bus.notify(subject, msg),
      tell: (host, verdict) => bus.tell(host, verdict),
      openMailbox: open,
    };
  }

  private fell(gate: Gate, error: unknown): void {
    if (!(error instanceof CrashError)) return;
    const replica = this.replicas.find((one) => one.gate === gate);
    if (replica !== undefined) void this.kill(replica);
  }

  // ------------------------------------------------------------------------------------------------ what must hold

  /** I21: each partition has an owner before long, and whoever has lost it does not go on for long. */
  private check(): void {
    const now = this.stage.time.now();
    if (now - this.checkedAt < 1_000) return;
    // While the simulation leaps, nobody can do anything.
    const isLeap = now - this.checkedAt > 2_000;
    this.checkedAt = now;
    const running = this.replicas.filter(({ gate }) => gate.isOpen);
    for (let part = 0; part < PARTITIONS; part++) {
      const holders = running.filter(({ runtime }) => runtime.partitions.includes(part));
      this.checkOrphan(part, holders.length === 0 && !isLeap && running.length > 0, now);
      for (const { id } of holders) this.checkBelief(`${id} ${part}`, this.leases.ownerOf(part) !== id && !isLeap, now);
    }
  }

  private checkOrphan(part: number, isOrphaned: boolean, now: number): void {
    if (!isOrphaned) return void this.orphanedAt.delete(part);
    // Mail that kills its processes ends one owner after the other: it is the next one that must not be long in coming.
    const since = Math.max(this.orphanedAt.get(part) ?? now, this.leases.lastTaken(part));
    this.orphanedAt.set(part, since);
    if (now - since > MAX_ORPHANED_MS)
      this.stage.fail('I21', `nobody has owned partition ${part} for ${now - since} ms`);
  }

  private checkBelief(id: string, isWrong: boolean, now: number): void {
    if (!isWrong) return void this.disputedAt.delete(id);
    const since = this.disputedAt.get(id) ?? now;
    this.disputedAt.set(id, since);
    if (now - since > MAX_BELIEVED_MS)
      this.stage.fail('I21', `${id} is still held ${now - since} ms after its lease was lost`);
  }
}

/** Everything that can be done without time has been done. */
function settled(): Promise<void> {
  return new Promise((done) => void setImmediate(done));
}

/** Calls and their answers wait until the process runs. */
function gated<T extends object>(gate: Gate, target: T, onError: (error: unknown) => void = () => {}): T {
  const calls: Record<string, unknown> = {};
  for (const name of methodsOf(target)) {
    const method = (target as Record<string, (...args: unknown[]) => unknown>)[name]!.bind(target);
    calls[name] = SYNCHRONOUS.has(name)
      ? method
      : async (...args: unknown[]) => {
          await gate.pass();
          try {
            const answer = await method(...args);
            await gate.pass();
            return answer;
          } catch (error) {
            onError(error);
            await gate.pass();
            throw error;
          }
        };
  }
  return calls as T;
}

const SYNCHRONOUS = new Set(['liveMembers', 'free', 'wake']);

function methodsOf(target: object): string[] {
  const names = new Set<string>();
  for (
    let level: object | null = target;
    level !== null && level !== Object.prototype;
    level = Object.getPrototypeOf(level) as object | null
  )
    for (const name of Object.getOwnPropertyNames(level)) names.add(name);
  names.delete('constructor');
  return [...names].filter((name) => typeof (target as Record<string, unknown>)[name] === 'function');
}

function mailboxOf(gate: Gate, mailbox: Mailbox): Mailbox {
  return {
    take: async (max, idleMs) => {
      await gate.pass();
      const found = await mailbox.take(max, idleMs);
      await gate.pass();
      return found;
    },
    wake: () => mailbox.wake(),
    close: async () => {
      await gate.pass();
      await mailbox.close();
    },
  };
}
