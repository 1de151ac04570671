/** What all parts of a world share: its dice, time, store, bus and faults, and the trace that takes every event. */
import {
  InvariantError,
  NO_FAULTS,
  Random,
  SharedClock,
  SimBus,
  SimClock,
  SimStore,
  STORE_RULES,
} from '@troupe/actors';
import type { ActorDef, StoreRules } from '@troupe/actors';
import {
  actorKey,
  type ActorKey,
  type ActorMessage,
  type HostVerdict,
  type Sender,
  type Uuid,
} from '@troupe/contracts';
import type { PoolRules, SlotPair } from '@troupe/politeness';
import type { JobRules } from '../../apps/scheduler/src/crawl/rules.js';
import { HostConduct } from './conduct.js';
import { Faults, type FaultKind } from './faults.js';
import { SimWeb } from './site.js';

/** One planted error, or none. */
export interface Mutation {
  job?: Partial<JobRules>;
  pool?: PoolRules;
  slotOrder?: (a: SlotPair, b: SlotPair) => number;
  store?: (random: Random) => Partial<StoreRules>;
  ackBeforeCommit?: boolean;
  /** Changes an actor. */
  actor?(def: ActorDef<unknown, unknown>): ActorDef<unknown, unknown>;
  /** More places than a host or a team has. */
  extraConn?: number;
  extraPlaces?: number;
  /** Changes what workers say; null: they do not. */
  word?(to: ActorKey, body: ActorMessage): ActorMessage | null;
  /** Changes what fetchers are told of a host. */
  verdict?(verdict: HostVerdict): HostVerdict;
  /** Messages of any version are read by everybody. */
  readsAll?: boolean;
  /** Turns that the store refuses for their content are taken for a store that is away. */
  blamesStore?: boolean;
  /** What a commit without an answer has left in the outbox is not looked for. */
  hasNoDoubt?: boolean;
  /** A renewal that was refused is taken for one that was granted. */
  keepsLeases?: boolean;
  /** Leases of replicas that died are never free. */
  keepsDead?: boolean;
  /** Level messages to actors of the same process go nowhere. */
  losesOwnMail?: boolean;
}

export interface WorldOptions {
  mutation?: Mutation;
  /** Faults that do not happen. */
  dropped?: readonly FaultKind[];
  /** Takes every event, a line each. */
  trace?: ((line: string) => void) | null;
}

/** When the worlds begin, by their wall clocks. */
const BEGINNING_MS = 1_700_000_000_000;
const TEAMS: readonly Uuid[] = ['a', 'b', 'c'].map((letter) => `00000000-0000-4000-8000-00000000000${letter}`);
/** Beyond this nothing fails: whatever is still owed must arrive. */
const FAULTY_MS = 120_000;

export class Stage {
  readonly random: Random;
  readonly faults: Faults;
  readonly time: SimClock;
  readonly store: SimStore;
  readonly bus: SimBus;
  readonly web: SimWeb;
  readonly hosts: ReadonlyMap<string, HostConduct>;
  readonly teams: ReadonlyMap<Uuid, { size: number }>;
  readonly mutation: Mutation;
  /** Nothing but schedulers and their clocks fails, and nothing is lost or repeated. */
  readonly isGentle: boolean;
  /** Schema version that workers and gateways write. */
  workerVersion = 1;
  isFaulty = true;
  private readonly trace: ((line: string) => void) | null;
  private letters = 0;

  constructor(
    seed: number,
    options: WorldOptions & { isShared?: boolean; outage?: (random: Random) => { from: number; to: number } | null },
  ) {
    this.mutation = options.mutation ?? {};
    this.trace = options.trace ?? null;
    this.random = new Random(seed);
    this.faults = new Faults(seed, options.dropped ?? []);
    this.isGentle = this.random.chance(0.3);
    if (this.isGentle) this.faults.beGentle();
    this.time = options.isShared ? new SharedClock(BEGINNING_MS) : new SimClock(BEGINNING_MS);
    this.bus = new SimBus(this.random, this.time, options.isShared);
    this.bus.troubles = {
      loss: this.faults.level('lost mail', [0, 0.01, 0.05]),
      duplication: this.faults.level('repeated mail', [0, 0.05, 0.2]),
      reordering: this.faults.level('reordered mail', [0, 0.1, 0.3]),
      lateness: this.faults.level('late mail', [0, 0.3, 0.6]),
    };
    this.store = new SimStore(this.time, { ...STORE_RULES, ...this.mutation.store?.(this.random), ...this.ackEarly() });
    this.web = new SimWeb(this.random, this.random.pick([1, 1, 2, 3]));
    const hosts = this.web.sites.map(({ host }) => {
      const outage = options.outage?.(this.random) ?? null;
      return [host, new HostConduct(this.random, this.faults, outage)] as const;
    });
    this.hosts = new Map(hosts);
    const teams = TEAMS.slice(0, this.random.pick([1, 1, 2, 3]));
    this.teams = new Map(teams.map((team) => [team, { size: this.random.int(1, 3) }]));
    if (this.trace !== null) this.listen();
  }

  private ackEarly(): Partial<StoreRules> {
    return this.mutation.ackBeforeCommit ? { beforeTransaction: (part) => this.bus.ackTaken(part) } : {};
  }

  private listen(): void {
    this.note(this.isGentle ? 'a gentle world:' : 'a world of troubles:', this.bus.troubles, {
      hosts: [...this.hosts].map(([host, { maxConn }]) => ({ host, maxConn })),
      teams: [...this.teams],
    });
    for (const url of this.web.urls) this.note('page', this.web.page(url));
  }

  /** Tells the trace; costs nothing without one. */
  note(event: string, ...details: unknown[]): void {
    if (this.trace === null) return;
    const words = details.filter((detail) => detail !== undefined).map((detail) => JSON.stringify(detail));
    this.trace(`${String(this.elapsed).padStart(8)} ms  ${[event, ...words].join(' ')}`);
  }

  get isTraced(): boolean {
    return this.trace !== null;
  }

  /** No page can be lost, and none has to be asked for twice. */
  get isSparing(): boolean {
    return this.isGentle && [...this.hosts.values()].every(({ isTroubled }) => !isTroubled);
  }

  /** ms since the world began. */
  get elapsed(): number {
    return this.time.now() - BEGINNING_MS;
  }

  get isOverTime(): boolean {
    return this.elapsed > FAULTY_MS;
  }

  /** After the storm everything works. */
  calm(): void {
    this.note('from here on nothing fails');
    this.isFaulty = false;
    this.faults.end();
    this.bus.troubles = { loss: 0, duplication: 0, reordering: 0, lateness: 0 };
  }

  /** A message of a worker or a gateway, which do not die of it. */
  send(to: ActorKey, said: ActorMessage, v = this.workerVersion): void {
    const body = this.mutation.word === undefined ? said : this.mutation.word(to, said);
    if (body === null) return;
    const { faults } = this.bus;
    this.bus.faults = NO_FAULTS;
    const from: Sender = 'w/sim';
    void this.bus.publishActor({ id: `w.${this.letters++}`, type: body.type, v, from, to, n: null, body });
    this.bus.faults = faults;
  }

  /** Actors that no job owns. */
  get poolKeys(): ActorKey[] {
    return [
      ...[...this.hosts.keys()].map((host) => actorKey('domain', host)),
      ...[...this.teams.keys()].map((team) => actorKey('team', team)),
    ];
  }

  fail(invariant: string, detail: string): never {
    throw new InvariantError(invariant, detail);
  }
}
