/**
 * Runs the partitions this replica holds: takes leases, opens partitions under new epochs, renews, rebalances, and
 * stands down when fenced (docs/design/actors.md, "Placement and ownership").
 *
 * The lease only says who *should* run a partition; `Partition` commits are fenced in the store.
 */
import { PARTITIONS, partitionOf, type ActorKind, type Envelope, type Tracer } from '@troupe/contracts';
import type { ActorDef } from './actor.js';
import type { Clock, RuntimeLog } from './clock.js';
import { FencedError, type ActorStore, type Bus, type LeaseBoard } from './ports.js';
import { LevelPost } from './level-post.js';
import { Partition, PARTITION_DEFAULTS, type PartitionOptions } from './partition.js';

export interface RuntimeDeps {
  id: string;
  store: ActorStore;
  bus: Bus;
  leases: LeaseBoard;
  clock: Clock;
  log: RuntimeLog;
  defs: readonly ActorDef<never, never>[];
  options?: Partial<PartitionOptions>;
  /** @default nothing is recorded */
  tracer?: Tracer;
  /** How long the store has given this process no answer. @default it is never silent */
  storeSilentMs?(): number;
  /** [0, 1): replicas that begin together reach for different partitions. @default Math.random */
  random?: () => number;
}

const RENEW_MS = 1_000;
const RELEASE_EVERY_MS = 200;
/** A replica that cannot renew for this long, or cannot commit for `STORE_LOST_MS`, stops believing in its leases. */
const LEASE_LOST_MS = 2_000;
const STORE_LOST_MS = 10_000;
/** When the store has been silent for this long leases are not renewed: they lapse when the store counts as lost. */
const STORE_QUIET_MS = 7_000;
const ACQUIRE_AT_ONCE = 8;
/** Many hosts answer one job, each from its own partition. Their messages within this time travel together. */
const LEVEL_PACE_MS = 20;

interface Held {
  partition: Partition | null;
  renewedAt: number;
  failingSince: number | null;
  stopping: boolean;
  /** Resolves when it is no longer held; null while it is to be kept. */
  left: Promise<void> | null;
  /** Resolves when it is neither opened nor worked on. */
  done: Promise<void>;
}

export class ActorRuntime {
  private readonly held = new Map<number, Held>();
  private readonly defs: ReadonlyMap<ActorKind, ActorDef<unknown, unknown>>;
  private readonly levels: LevelPost;
  private running = false;
  private loops: Promise<unknown> = Promise.resolve();
  private releaseAt = 0;
  private isAside = false;

  constructor(private readonly deps: RuntimeDeps) {
    this.defs = new Map(deps.defs.map((def) => [def.kind, def as unknown as ActorDef<unknown, unknown>]));
    const { bus, log, clock } = deps;
    this.levels = new LevelPost({
      bus,
      log,
      clock,
      paceMs: LEVEL_PACE_MS,
      deliverHere: (envelope) => this.deliverHere(envelope),
    });
  }

  async start(): Promise<void> {
    await this.deps.leases.start();
    this.running = true;
    // Apart: partitions take seconds to open where the store is slow, and leases do not wait.
    this.loops = Promise.all([
      this.repeat(
        () => this.keepLeases(),
        () => RENEW_MS / 4,
      ),
      this.repeat(
        () => this.keepShare(),
        () => (this.held.size >= this.share() ? RENEW_MS : RENEW_MS / 4),
      ),
    ]);
  }

  /** Finishes running drains, writes empty leases so that others take over at once. */
  async stop(): Promise<void> {
    this.running = false;
    await this.loops;
    await Promise.all([...this.held].map(([part, entry]) => this.letGo(part, entry, true)));
    this.levels.flush();
    await this.deps.leases.stop();
  }

  /** Partitions held now. */
  get partitions(): number[] {
    return [...this.held.keys()].sort((a, b) => a - b);
  }

  private deliverHere(envelope: Envelope): boolean {
    const entry = this.held.get(partitionOf(envelope.to));
    return entry !== undefined && !entry.stopping && entry.partition !== null && entry.partition.receive(envelope);
  }

  private async repeat(round: () => Promise<void>, everyMs: () => number): Promise<void> {
    const { clock, log } = this.deps;
    while (this.running) {
      const started = clock.now();
      try {
        await round();
      } catch (error) {
        log.warn({ err: String(error) }, 'lease round failed');
      }
      await clock.sleep(Math.max(50, everyMs() - (clock.now() - started)));
    }
  }

  private async keepLeases(): Promise<void> {
    const silentMs = this.storeSilentMs();
    if (silentMs < STORE_QUIET_MS) {
      if (this.isAside) await this.stepIn();
      return this.renewAll();
    }
    if (!this.isAside) this.stepAside(silentMs);
    if (silentMs < STORE_LOST_MS) return;
    for (const [part, entry] of this.held) if (!entry.stopping) void this.letGo(part, entry, false);
  }

  private storeSilentMs(): number {
    return this.deps.storeSilentMs?.() ?? 0;
  }

  /** Without the store this process can do no work: the others need not leave it a share. */
  private stepAside(silentMs: number): void {
    const { leases, log } = this.deps;
    this.isAside = true;
    log.warn({ silentMs: Math.round(silentMs) }, 'the store is silent: leases are not renewed');
    leases.stepAside().catch((error: unknown) => log.warn({ err: String(error) }, 'not stepped aside'));
  }

  private async stepIn(): Promise<void> {
    await this.deps.leases.stepIn();
    this.isAside = false;
    this.deps.log.info({}, 'the store answers: partitions are taken again');
  }

  private async keepShare(): Promise<void> {
    if (this.isAside) return;
    this.rebalance();
    await this.acquireFree();
  }

  private share(): number {
    return Math.ceil(PARTITIONS / Math.max(1, this.deps.leases.liveMembers().length));
  }

  private async renewAll(): Promise<void> {
    const now = this.deps.clock.now();
    const due = [...this.held].filter(([, entry]) => !entry.stopping && now - entry.renewedAt >= RENEW_MS * 0.9);
    await Promise.all(due.map(([part, entry]) => this.renew(part, entry)));
  }

  private async renew(part: number, entry: Held): Promise<void> {
    const { clock, leases, log } = this.deps;
    const kept = await leases.renew(part).then(
      (ok) => (ok ? 'kept' : 'lost'),
      () => 'unknown',
    );
    if (kept === 'kept') entry.renewedAt = clock.now();
    const storeLost = entry.failingSince !== null && clock.now() - entry.failingSince > STORE_LOST_MS;
    if (kept === 'lost' || clock.now() - entry.renewedAt > LEASE_LOST_MS || storeLost) {
      log.warn({ part, kept, storeLost }, 'partition given up');
      void this.letGo(part, entry, kept !== 'lost');
    }
  }

  private rebalance(): void {
    const { clock } = this.deps;
    if (this.held.size <= this.share() || clock.now() < this.releaseAt) return;
    this.releaseAt = clock.now() + RELEASE_EVERY_MS;
    const part = this.partitions.at(-1);
    if (part !== undefined) void this.letGo(part, this.held.get(part)!, true);
  }

  private async acquireFree(): Promise<void> {
    const room = this.share() - this.held.size;
    if (room <= 0) return;
    const free = this.deps.leases.free().filter((part) => !this.held.has(part));
    const wanted = shuffled(free, this.deps.random ?? Math.random).slice(0, Math.min(room, ACQUIRE_AT_ONCE * 4));
    for (let i = 0; i < wanted.length; i += ACQUIRE_AT_ONCE) {
      await Promise.all(wanted.slice(i, i + ACQUIRE_AT_ONCE).map((part) => this.take(part)));
    }
  }

  private async take(part: number): Promise<void> {
    const { leases, clock } = this.deps;
    if (!(await leases.acquire(part).catch(() => false))) return;
    const entry: Held = {
      partition: null,
      renewedAt: clock.now(),
      failingSince: null,
      stopping: false,
      left: null,
      done: Promise.resolve(),
    };
    this.held.set(part, entry);
    const opening = this.open(part, entry);
    entry.done = opening.then((partition) => (partition === null ? undefined : this.work(part, entry, partition)));
    await opening;
  }

  /** null: it could not be opened, or was given up meanwhile. */
  private async open(part: number, entry: Held): Promise<Partition | null> {
    const { store, log, id, clock } = this.deps;
    try {
      const epoch = await store.mintEpoch(part, id);
      const partition = new Partition(part, epoch, {
        store,
        bus: this.deps.bus,
        clock,
        log,
        defs: this.defs,
        options: { ...PARTITION_DEFAULTS, ...this.deps.options },
        tracer: this.deps.tracer,
        levels: this.levels,
      });
      entry.partition = partition;
      await partition.open();
      log.debug({ part, epoch }, 'partition taken');
      if (!entry.stopping) return partition;
      // It was opened after it had been closed.
      await partition.close();
    } catch (error) {
      log.warn({ part, err: String(error) }, 'partition could not be opened');
      void this.letGo(part, entry, true);
    }
    return null;
  }

  private async work(part: number, entry: Held, partition: Partition): Promise<void> {
    const { clock, log } = this.deps;
    while (!entry.stopping) {
      try {
        await partition.step();
        entry.failingSince = null;
      } catch (error) {
        if (error instanceof FencedError) {
          log.warn({ part, epoch: partition.epoch, err: error.message }, 'fenced: another owner has this partition');
          void this.letGo(part, entry, false);
          return;
        }
        entry.failingSince ??= clock.now();
        log.warn({ part, err: String(error) }, 'turn failed, will be repeated');
        await clock.sleep(Math.min(2_000, 50 + (clock.now() - entry.failingSince)));
      }
    }
  }

  /** Runs once, for the first reason: a lost partition is not given back because something else comes up meanwhile. */
  private letGo(part: number, entry: Held, release: boolean): Promise<void> {
    entry.stopping = true;
    entry.left ??= this.leave(part, entry, release);
    return entry.left;
  }

  private async leave(part: number, entry: Held, release: boolean): Promise<void> {
    await entry.partition?.close().catch(() => undefined);
    await entry.done;
    this.held.delete(part);
    if (release) await this.deps.leases.release(part).catch(() => undefined);
  }
}

function shuffled<T>(items: T[], random: () => number): T[] {
  const copy = [...items];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [copy[i], copy[j]] = [copy[j]!, copy[i]!];
  }
  return copy;
}
