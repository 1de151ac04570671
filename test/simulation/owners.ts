/** Partitions that are led by hand: any of them may die, or be followed by another one and go on for a while. */
import {
  CrashError,
  FencedError,
  Partition,
  PARTITION_DEFAULTS,
  ProcessClock,
  TurnConflictError,
  TurnTimeoutError,
  type ActorDef,
  type RuntimeLog,
} from '@troupe/actors';
import { partitionOf, type ActorKey, type ActorKind } from '@troupe/contracts';
import { StoreAwayError } from './store-troubles.js';
import type { Stage } from './stage.js';

export type Defs = ReadonlyMap<ActorKind, ActorDef<unknown, unknown>>;

/** Who runs the actors of a world. */
export interface Schedulers {
  step(): Promise<void>;
  /** Something that happens to schedulers only. */
  trouble(): Promise<void>;
  /** All of them are of the newest release from now on. */
  upgrade(): void;
  /** New owners everywhere, after the end: whatever was committed is to be published. */
  succeed(): Promise<void>;
}

export interface Release {
  version: number;
  defs: Defs;
}

interface Owner {
  partition: Partition;
  clock: ProcessClock;
  version: number;
  /** Steps a deposed owner may still take. */
  zombieSteps: number | null;
}

export const SILENT: RuntimeLog = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export class HandLedOwners implements Schedulers {
  private readonly owners = new Map<number, Owner[]>();
  /** Of so many actors: they only become more. */
  private known = 0;
  private partsOfKeys: number[] = [];

  constructor(
    private readonly stage: Stage,
    private readonly releaseNow: () => Release,
    private readonly keys: () => readonly ActorKey[],
    private readonly noteOwner: (epoch: number, part: number, version: number) => void,
  ) {}

  async step(): Promise<void> {
    const part = this.stage.random.pick(this.parts);
    let owners = this.of(part);
    if (owners.every((owner) => owner.zombieSteps !== null)) owners = await this.takeOver(part);
    if (owners.length === 0) return;
    const owner = this.stage.random.pick(owners);
    if (owner.zombieSteps !== null) owner.zombieSteps -= 1;
    if (owner.zombieSteps === 0) this.remove(part, owner);
    if (this.stage.faults.happens('wall set', 0.002))
      owner.clock.setWall(this.stage.faults.of('wall set').int(-1, 1) * 3_600_000);
    await this.stepPartition(part, owner);
  }

  /** A second owner appears while the first still believes in itself. */
  async trouble(): Promise<void> {
    if (!this.stage.faults.happens('second owner', 1)) return;
    const part = this.stage.random.pick(this.parts);
    this.stage.note(`partition ${part} gets a second owner`);
    for (const owner of this.of(part)) owner.zombieSteps ??= this.stage.random.int(1, 20);
    await this.takeOver(part);
  }

  upgrade(): void {
    const { version } = this.releaseNow();
    for (const [part, owners] of this.owners)
      this.owners.set(
        part,
        owners.filter((owner) => owner.version === version),
      );
  }

  async succeed(): Promise<void> {
    for (const part of this.parts) {
      this.owners.set(part, []);
      for (const owner of await this.takeOver(part)) await this.stepPartition(part, owner);
    }
  }

  private get parts(): number[] {
    const keys = this.keys();
    if (keys.length > this.known) this.partsOfKeys = [...new Set(keys.map((key) => partitionOf(key)))];
    this.known = keys.length;
    return this.partsOfKeys;
  }

  private of(part: number): Owner[] {
    return this.owners.get(part) ?? [];
  }

  private async stepPartition(part: number, owner: Owner): Promise<void> {
    try {
      await owner.partition.step();
    } catch (error) {
      // It goes on with what it has in hand, as in the runtime.
      const isOver = error instanceof CrashError || error instanceof FencedError;
      if (!isOver && isPassing(error)) return this.stage.note(`partition ${part}:`, (error as Error).message);
      if (!isOver) throw error;
      this.stage.note(`partition ${part}, epoch ${owner.partition.epoch} ends:`, error.message);
      this.remove(part, owner);
    }
  }

  private remove(part: number, owner: Owner): void {
    this.owners.set(
      part,
      this.of(part).filter((other) => other !== owner),
    );
  }

  /** Those who own the partition then: nobody while the store is away. */
  private async takeOver(part: number): Promise<Owner[]> {
    const { stage } = this;
    const { store, bus } = stage;
    const { defs, version } = this.releaseNow();
    const epoch = await store.mintEpoch(part);
    stage.note(`partition ${part}, epoch ${epoch}, version ${version} begins`);
    this.noteOwner(epoch, part, version);
    const clock = clockOf(stage);
    const options = { ...PARTITION_DEFAULTS, idleMs: 0, paceMs: 0 };
    const partition = new Partition(part, epoch, { store, bus, clock, log: SILENT, defs, options });
    if (stage.mutation.hasNoDoubt === true)
      Object.assign(Reflect.get(partition, 'outbox') as object, { doubt: () => {} });
    const owner: Owner = { partition, clock, version, zombieSteps: null };
    this.owners.set(part, [...this.of(part), owner]);
    try {
      await partition.open();
    } catch (error) {
      this.remove(part, owner);
      if (error instanceof StoreAwayError) return [];
      if (!(error instanceof CrashError)) throw error;
    }
    const owners = this.of(part);
    return owners.length > 0 ? owners : this.takeOver(part);
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof StoreAwayError || error instanceof TurnConflictError || error instanceof TurnTimeoutError;
}

/** Of a process that begins now. */
export function clockOf({ faults, time }: Stage): ProcessClock {
  return new ProcessClock(time, {
    offsetMs: faults.level('clock offset', [0, 5_000_000, 40_000_000_000]) + 1_000,
    speed: 1 + faults.level('clock drift', [0, -0.05, -0.01, 0.01, 0.05]),
    wallOffsetMs: faults.level('wall set', [0, 0, -3_600_000, 3_600_000]),
  });
}
