/** A NATS server that says nothing: no connection ends, nobody is told. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { actorKey, partitionOf, type ActorKey } from '@troupe/contracts';
import { ActorBus, KvLeaseBoard, NatsLink } from '@troupe/messaging';
import { setTimeout as sleep } from 'node:timers/promises';
import { TcpRelay, type Silence } from '../../support/tcp-relay.js';
import { cancelMessage, eventually, insist, kick, PART } from './fixtures.js';
import { TestNatsServer } from './nats-server.js';

/** Three pings of 3 s, and what a busy machine adds. */
const NOTICED_MS = 9_000 + 2_500;
const HEALED_MS = 8_000;

let server: TestNatsServer;
const links: NatsLink[] = [];
const relays: TcpRelay[] = [];

beforeEach(async () => {
  server = await TestNatsServer.start();
});
afterEach(async () => {
  await Promise.all(relays.map((relay) => relay.mend()));
  await Promise.all(links.splice(0).map((link) => link.close()));
  await Promise.all(relays.splice(0).map((relay) => relay.cut()));
  await server.stop();
});

async function open(): Promise<{ link: NatsLink; way: TcpRelay }> {
  const way = await TcpRelay.startTo(server.url);
  const link = await NatsLink.open({ server: { natsUrl: way.addressOf(server.url) }, name: 'silence' });
  relays.push(way);
  links.push(link);
  await link.ensureTopology();
  return { link, way };
}

/** Gives the connection up within ten seconds, and what used it goes on when it is mended. */
async function expectToSurvive(who: Silence, part: number): Promise<void> {
  const { link, way } = await open();
  const [to, back] = [actorIn(part), `back ${who}`];
  const bus = new ActorBus(link);
  const mailbox = await bus.openMailbox(part, 1);
  const leases = new KvLeaseBoard(link, { id: `sched-${who}` });
  await leases.start();
  expect(await leases.acquire(part)).toBe(true);

  way.silent(who);
  const startedMs = performance.now();
  await expect(bus.publishActor(cancelMessage(`lost ${who}`, to))).rejects.toMatchObject({
    httpStatus: 503,
    retryable: true,
  });
  await eventually(() => !link.isUp(), NOTICED_MS);
  expect(performance.now() - startedMs).toBeLessThan(NOTICED_MS);
  await expect(link.ping()).rejects.toThrow('NATS is not connected');

  await way.mend();
  await insist(() => bus.publishActor(cancelMessage(back, to)), HEALED_MS);
  const got = new Set<string>();
  await eventually(async () => {
    for (const { envelope, ack } of await mailbox.take(10, 100)) {
      got.add(envelope.id);
      ack();
    }
    return got.has(back);
  }, HEALED_MS);
  await eventually(() => leases.renew(part).catch(() => false), HEALED_MS);
  await Promise.all([mailbox.close(), leases.stop()]);
}

/** An actor that lives there. */
function actorIn(part: number): ActorKey {
  for (let n = 0; ; n++) {
    const key = actorKey('crawl', `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`);
    if (partitionOf(key) === part) return key;
  }
}

describe('a connection to a server that says nothing', () => {
  it('is given up within ten seconds, and what used it goes on when it is mended, whoever is not heard', async () => {
    await Promise.all((['both', 'server', 'clients'] as const).map(expectToSurvive));
  }, 60_000);

  it('is given up although more is to be sent than the way takes', async () => {
    const { link, way } = await open();
    const bus = new ActorBus(link);
    way.silent('clients');
    const body = new Uint8Array(1_000_000);
    for (let n = 0; n < 30; n++) link.nc.publish('nobody.listens', body);
    await eventually(() => !link.isUp(), NOTICED_MS);
    await way.mend();
    await insist(() => bus.publishWork('kick', 'hi', 'k1', kick('http://k/1')), HEALED_MS);
  }, 60_000);
});

describe('a replica that steps aside', () => {
  it('is no live member for the others until it steps in again', async () => {
    const two = await Promise.all([open(), open()]);
    const [one, other] = two.map(({ link }, i) => new KvLeaseBoard(link, { id: `sched-${i}` }));
    await one!.start();
    await other!.start();
    await eventually(() => one!.liveMembers().length === 2 && other!.liveMembers().length === 2);
    await one!.acquire(PART);
    await one!.stepAside();
    await eventually(() => other!.liveMembers().length === 1);
    // Longer than from one beat to the next.
    await sleep(1_500);
    expect(other!.liveMembers()).toEqual(['sched-1']);
    expect(await one!.renew(PART)).toBe(true);
    await one!.stepIn();
    await eventually(() => other!.liveMembers().length === 2);
    await Promise.all([one!.stop(), other!.stop()]);
  }, 30_000);
});
