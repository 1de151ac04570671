import { afterEach, describe, expect, it } from '@jest/globals';
import { PARTITIONS, partitionOf, type Envelope, type Mail } from '@troupe/contracts';
import type { Clock } from './clock.js';
import { message, noteActor, SILENT, keysInTwoPartitions, type Order } from './note-actor.fixture.js';
import { FencedError, type Bus, type LeaseBoard, type Mailbox } from './ports.js';
import { ActorRuntime } from './runtime.js';
import { SimClock } from './simulation/sim-clock.js';
import { SimStore } from './simulation/sim-store.js';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waiting costs next to no real time. */
class QuickClock extends SimClock implements Clock {
  override async sleep(ms: number): Promise<void> {
    this.advance(ms);
    await pause(1);
  }
}

/** Time that passes only when it is told to. */
class StepClock extends SimClock implements Clock {
  private readonly sleepers = new Set<{ atMs: number; wake: () => void }>();

  override sleep(ms: number): Promise<void> {
    return new Promise((wake) => this.sleepers.add({ atMs: this.now() + ms, wake }));
  }

  /** In small steps; what wakes up gets to work in between. */
  async pass(ms: number, isOver: () => boolean = () => false): Promise<void> {
    for (const endMs = this.now() + ms; this.now() < endMs && !isOver();) {
      this.advance(STEP_MS);
      for (const sleeper of this.sleepers) {
        if (sleeper.atMs > this.now()) continue;
        this.sleepers.delete(sleeper);
        sleeper.wake();
      }
      await pause(1);
    }
  }
}

const STEP_MS = 50;

/** The bucket all replicas see. */
class Leases {
  readonly holders = new Map<number, string>();
  readonly members = new Set<string>();
  /** As `<replica> <partition>`, also what the replica no longer held. */
  readonly released: string[] = [];
  /** How many renewals of a partition get no answer yet. */
  readonly unanswered = new Map<number, number>();
  readonly renewals = new Map<number, number>();

  board(id: string): LeaseBoard {
    const { holders, members } = this;
    return {
      start: async () => void members.add(id),
      liveMembers: () => [...members],
      free: () => Array.from({ length: PARTITIONS }, (_, part) => part).filter((part) => !holders.has(part)),
      acquire: async (part) => !holders.has(part) && !!holders.set(part, id),
      renew: async (part) => {
        this.renewals.set(part, (this.renewals.get(part) ?? 0) + 1);
        const unanswered = this.unanswered.get(part) ?? 0;
        this.unanswered.set(part, Math.max(0, unanswered - 1));
        if (unanswered > 0) throw new Error('no answer');
        return holders.get(part) === id;
      },
      release: async (part) => {
        this.released.push(`${id} ${part}`);
        if (holders.get(part) === id) holders.delete(part);
      },
      stepAside: async () => void members.delete(id),
      stepIn: async () => void members.add(id),
      stop: async () => void members.delete(id),
    };
  }

  heldBy(id: string): number[] {
    return [...this.holders].filter(([, holder]) => holder === id).map(([part]) => part);
  }
}

const leases = new Leases();
const running: ActorRuntime[] = [];
const fenced = new Set<string>();
const closed = new Set<string>();
/** Says whether the store fails that a partition needs for what it takes. */
let storeFails: (part: number) => boolean = () => false;
let onClose: () => void = () => {};
let cannotOpen: number | null = null;
let storeSilentMs = 0;
/** Promises to wait for, by the step that waits: `open <partition>`, `take <partition>`. */
const gates = new Map<string, Promise<void>>();
const opened = new Set<string>();

/** Holds up what waits for `name`; the way to let it pass. */
function closeGate(name: string): () => void {
  let open = () => {};
  gates.set(name, new Promise((resolve) => (open = resolve)));
  return open;
}

/** Waits for the owner of its actor. */
const mail: Envelope[] = [];
const published: string[] = [];

function mailboxOf(id: string, part: number): Mailbox {
  return {
    take: async () => {
      await pause(5);
      await gates.get(`take ${part}`);
      if (fenced.has(`${id} ${part}`)) throw new FencedError('another owner');
      if (storeFails(part)) throw new Error('the store does not answer');
      const at = mail.findIndex(({ to }) => partitionOf(to) === part);
      return at < 0 ? [] : [{ envelope: mail.splice(at, 1)[0]!, ack: () => {}, nack: () => {} }];
    },
    wake: () => {},
    close: async () => {
      onClose();
      closed.add(`${id} ${part}`);
    },
  };
}

async function startReplica(
  id: string,
  onTry: (order: Order) => void = () => {},
  clock: Clock = new QuickClock(),
): Promise<ActorRuntime> {
  const bus = {
    publishActor: async ({ to }: Mail) => void published.push(to),
    openMailbox: async (part: number) => {
      if (part === cannotOpen) throw new Error('no consumer');
      await gates.get(`open ${part}`);
      opened.add(`${id} ${part}`);
      return mailboxOf(id, part);
    },
  } as unknown as Bus;
  const runtime = new ActorRuntime({
    id,
    store: new SimStore(clock),
    bus,
    leases: leases.board(id),
    clock,
    log: SILENT,
    defs: [noteActor('crawl', false, onTry)] as never[],
    storeSilentMs: () => storeSilentMs,
  });
  running.push(runtime);
  await runtime.start();
  return runtime;
}

const steppers: StepClock[] = [];

/** A replica that holds everything, and its clock. */
async function startStepped(): Promise<{ runtime: ActorRuntime; clock: StepClock }> {
  const clock = new StepClock();
  steppers.push(clock);
  const runtime = await startReplica('one', undefined, clock);
  await clock.pass(60_000, () => runtime.partitions.length === PARTITIONS);
  await clock.pass(1_500);
  expect(runtime.partitions).toHaveLength(PARTITIONS);
  return { runtime, clock };
}

async function until(what: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 20_000; !what(); await pause(5)) {
    if (Date.now() > deadline) throw new Error(`not reached: ${what.toString()}`);
  }
}

afterEach(async () => {
  const clocks = steppers.splice(0);
  const passing = setInterval(() => clocks.forEach((clock) => void clock.pass(STEP_MS)), 1);
  await Promise.all(running.splice(0).map((runtime) => runtime.stop()));
  clearInterval(passing);
  expect(leases.members.size).toBe(0);
  leases.holders.clear();
  leases.released.length = 0;
  leases.unanswered.clear();
  leases.renewals.clear();
  fenced.clear();
  closed.clear();
  storeFails = () => false;
  onClose = () => {};
  cannotOpen = null;
  storeSilentMs = 0;
  gates.clear();
  opened.clear();
  mail.length = 0;
  published.length = 0;
});

describe('replicas of the runtime', () => {
  it('share the partitions: each holds at most P divided by the members, rounded up, and none is held twice', async () => {
    const one = await startReplica('one');
    await until(() => one.partitions.length === PARTITIONS);
    const two = await startReplica('two');
    await until(() => one.partitions.length === 32 && two.partitions.length === 32);
    const three = await startReplica('three');
    const replicas = [one, two, three];
    await until(
      () =>
        replicas.every((replica) => replica.partitions.length <= 22) &&
        replicas.flatMap(({ partitions }) => partitions).length === PARTITIONS,
    );
    expect(new Set(replicas.flatMap(({ partitions }) => partitions)).size).toBe(PARTITIONS);
  });

  it('release everything when they stop, and the others take it over', async () => {
    const one = await startReplica('one');
    const two = await startReplica('two');
    await until(() => one.partitions.length === 32 && two.partitions.length === 32);
    const left = two.partitions;
    await two.stop();
    expect(two.partitions).toEqual([]);
    expect(leases.heldBy('two')).toEqual([]);
    expect(left.every((part) => closed.has(`two ${part}`))).toBe(true);
    await until(() => one.partitions.length === PARTITIONS);
  });
});

describe('level messages', () => {
  const [ALICE, BOB] = keysInTwoPartitions('crawl');
  const shout = (text: string): Envelope => {
    const body = message({ type: 'Shout', to: BOB, text });
    return { id: text, type: 'Shout', v: 2, from: 'gw/test', to: ALICE, n: null, body };
  };

  it('leave the process only while another one has their receiver', async () => {
    const heard: string[] = [];
    const onTry = (order: Order) => void (order.type === 'Note' && heard.push(order.text));
    const one = await startReplica('one', onTry);
    await until(() => one.partitions.length === PARTITIONS);
    mail.push(shout('at home'));
    await until(() => heard.length === 1);
    expect([heard, published]).toEqual([['at home'], []]);

    leases.holders.set(partitionOf(BOB), 'somebody else');
    await until(() => !one.partitions.includes(partitionOf(BOB)));
    mail.push(shout('abroad'));
    await until(() => published.length === 1);
    expect([heard, published]).toEqual([['at home'], [BOB]]);
  });
});

describe('a partition', () => {
  it('that another owner has taken is let go without touching its lease', async () => {
    const runtime = await startReplica('one');
    await until(() => runtime.partitions.length === PARTITIONS);
    fenced.add('one 5');
    await until(() => !runtime.partitions.includes(5));
    expect(closed.has('one 5')).toBe(true);
    expect(leases.holders.get(5)).toBe('one');
    await pause(50);
    expect(leases.released).toEqual([]);
    expect(runtime.partitions).toHaveLength(PARTITIONS - 1);
  });

  it('whose lease is lost is let go, and a lease that is another one’s is not given back', async () => {
    const runtime = await startReplica('one');
    await until(() => runtime.partitions.length === PARTITIONS);
    leases.holders.set(7, 'somebody else');
    await until(() => !runtime.partitions.includes(7));
    expect(closed.has('one 7')).toBe(true);
    await pause(50);
    expect(leases.released).toEqual([]);
    expect(leases.holders.get(7)).toBe('somebody else');
  });

  it('whose lease cannot be renewed for two seconds is let go and given back', async () => {
    const runtime = await startReplica('one');
    await until(() => runtime.partitions.length === PARTITIONS);
    leases.unanswered.set(7, 3);
    await until(() => leases.released.length > 0);
    expect([leases.released, [...closed]]).toEqual([['one 7'], ['one 7']]);
    await until(() => runtime.partitions.length === PARTITIONS);
  });

  it('whose lease could not be renewed once is kept', async () => {
    const runtime = await startReplica('one');
    await until(() => runtime.partitions.length === PARTITIONS);
    leases.unanswered.set(7, 1);
    leases.renewals.clear();
    await until(() => leases.renewals.get(7)! >= 5);
    expect([...closed]).toEqual([]);
    expect(runtime.partitions).toContain(7);
  });

  it('whose store fails for ten seconds is let go and given back, not sooner', async () => {
    const clock = new QuickClock();
    const runtime = await startReplica('one', undefined, clock);
    await until(() => runtime.partitions.length === PARTITIONS);
    let failsSince: number | null = null;
    let closedAtMs: number | null = null;
    onClose = () => void (closedAtMs ??= clock.now());
    storeFails = (part) => {
      if (part !== 7 || closedAtMs !== null) return false;
      failsSince ??= clock.now();
      return true;
    };
    await until(() => leases.released.length > 0);
    expect([leases.released, [...closed]]).toEqual([['one 7'], ['one 7']]);
    expect(closedAtMs! - failsSince!).toBeGreaterThan(10_000);
    expect(closedAtMs! - failsSince!).toBeLessThan(30_000);
    await until(() => runtime.partitions.length === PARTITIONS);
  });

  it('whose store fails now and then is kept', async () => {
    const clock = new QuickClock();
    const runtime = await startReplica('one', undefined, clock);
    await until(() => runtime.partitions.length === PARTITIONS);
    let tries = 0;
    storeFails = (part) => part === 7 && ++tries % 2 === 1;
    const fromMs = clock.now();
    await until(() => clock.now() - fromMs > 40_000 && tries > 10);
    expect([...closed]).toEqual([]);
  });

  it('that cannot be opened is given back, and tried again', async () => {
    cannotOpen = 9;
    const runtime = await startReplica('one');
    await until(() => runtime.partitions.length >= PARTITIONS - 1);
    cannotOpen = null;
    await until(() => runtime.partitions.length === PARTITIONS);
  });
});

describe('a lease', () => {
  it('that cannot be renewed is given up after two seconds, not sooner, and not much later', async () => {
    const { clock } = await startStepped();
    leases.renewals.clear();
    await clock.pass(5_000, () => leases.renewals.has(7));
    const renewedAtMs = clock.now();
    leases.unanswered.set(7, Infinity);
    await clock.pass(20_000, () => closed.has('one 7'));
    expect(clock.now() - renewedAtMs).toBeGreaterThan(2_000);
    expect(clock.now() - renewedAtMs).toBeLessThan(3_500);
    await clock.pass(5_000, () => leases.released.includes('one 7'));
    expect(leases.released).toEqual(['one 7']);
  });

  it('that is lost is not given back because the replica stops meanwhile', async () => {
    const runtime = await startReplica('one');
    await until(() => runtime.partitions.length === PARTITIONS);
    const goOn = closeGate('take 7');
    leases.holders.set(7, 'somebody else');
    await until(() => closed.has('one 7'));
    // It still waits for its drain.
    expect(runtime.partitions).toContain(7);
    const stopped = runtime.stop();
    await pause(20);
    goOn();
    await stopped;
    expect(leases.released).toHaveLength(PARTITIONS - 1);
    expect(leases.released).not.toContain('one 7');
    running.splice(0);
    expect(leases.holders.get(7)).toBe('somebody else');
  });

  it('that is lost while its partition is opened: the partition is closed again, and nothing of it is handled', async () => {
    const goOn = closeGate('open 9');
    const runtime = await startReplica('one');
    await until(() => leases.holders.get(9) === 'one');
    await pause(30);
    leases.holders.set(9, 'somebody else');
    leases.renewals.clear();
    await until(() => leases.renewals.has(9));
    closed.clear();
    expect(opened.has('one 9')).toBe(false);
    let taken = 0;
    storeFails = (part) => part === 9 && ++taken > 0;
    goOn();
    await until(() => closed.has('one 9'));
    await until(() => runtime.partitions.length === PARTITIONS - 1);
    expect([opened.has('one 9'), runtime.partitions.includes(9), taken]).toEqual([true, false, 0]);
    expect(leases.released).toEqual([]);
  });

  it('is renewed while another partition takes its time to open', async () => {
    const goOn = closeGate('open 9');
    const runtime = await startReplica('one');
    // It may be one of the first eight, which are opened together.
    await until(() => runtime.partitions.length > 6);
    await pause(30);
    leases.renewals.clear();
    await until(() => [...leases.renewals.values()].some((n) => n >= 3));
    goOn();
    await until(() => runtime.partitions.length === PARTITIONS);
  });
});

describe('a store', () => {
  it('that fails a partition for ten seconds loses it then, and given back', async () => {
    const { clock } = await startStepped();
    let failsSinceMs: number | null = null;
    storeFails = (part) => {
      if (part !== 7 || closed.has('one 7')) return false;
      failsSinceMs ??= clock.now();
      return true;
    };
    await clock.pass(60_000, () => closed.has('one 7'));
    expect(clock.now() - failsSinceMs!).toBeGreaterThan(10_000);
    expect(clock.now() - failsSinceMs!).toBeLessThan(12_500);
    await clock.pass(5_000, () => leases.released.includes('one 7'));
    expect(leases.released).toEqual(['one 7']);
  });

  it('that is silent for ten seconds loses all partitions; their leases are not renewed, and not given back', async () => {
    const { runtime, clock } = await startStepped();
    storeSilentMs = 6_900;
    leases.renewals.clear();
    await clock.pass(3_000);
    expect(leases.renewals.size).toBe(PARTITIONS);
    expect([...leases.members]).toEqual(['one']);

    storeSilentMs = 7_000;
    await clock.pass(500);
    leases.renewals.clear();
    await clock.pass(1_000);
    expect([leases.renewals.size, leases.members.size, closed.size]).toEqual([0, 0, 0]);

    storeSilentMs = 9_990;
    await clock.pass(1_000);
    expect([closed.size, runtime.partitions.length]).toEqual([0, PARTITIONS]);
    storeSilentMs = 10_000;
    await clock.pass(10_000, () => runtime.partitions.length === 0);
    expect([closed.size, runtime.partitions.length]).toEqual([PARTITIONS, 0]);
    expect([leases.released, leases.heldBy('one').length]).toEqual([[], PARTITIONS]);

    // Other replicas may take those that are free; this one takes none.
    leases.holders.clear();
    await clock.pass(5_000);
    expect(runtime.partitions).toEqual([]);
    storeSilentMs = 0;
    await clock.pass(60_000, () => runtime.partitions.length === PARTITIONS);
    expect(runtime.partitions).toHaveLength(PARTITIONS);
    expect([...leases.members]).toEqual(['one']);
  });

  it('that answers again before it counts as lost costs nothing', async () => {
    const { runtime, clock } = await startStepped();
    storeSilentMs = 8_000;
    await clock.pass(1_500);
    storeSilentMs = 0;
    leases.renewals.clear();
    await clock.pass(2_000);
    expect([leases.renewals.size, [...leases.members], closed.size]).toEqual([PARTITIONS, ['one'], 0]);
    expect(runtime.partitions).toHaveLength(PARTITIONS);
  });
});
