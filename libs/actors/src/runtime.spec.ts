import { afterEach, describe, expect, it } from '@jest/globals';
import { PARTITIONS, partitionOf, type Envelope, type Mail } from '@troupe/contracts';
import type { Clock } from './clock.js';
import { message, noteActor, SILENT, twoHomes, type Order } from './note-actor.fixture.js';
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
/** Waits for the owner of its actor. */
const mail: Envelope[] = [];
const published: string[] = [];

function mailboxOf(id: string, part: number): Mailbox {
  return {
    take: async () => {
      await pause(5);
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
  });
  running.push(runtime);
  await runtime.start();
  return runtime;
}

async function until(what: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 20_000; !what(); await pause(5)) {
    if (Date.now() > deadline) throw new Error(`not reached: ${what.toString()}`);
  }
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((runtime) => runtime.stop()));
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
  const [ALICE, BOB] = twoHomes('crawl');
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
