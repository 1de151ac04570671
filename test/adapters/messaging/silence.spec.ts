/** A NATS server that says nothing: no connection ends, nobody is told. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ActorBus, KvLeaseBoard, NatsLink } from '@troupe/messaging';
import { TcpRelay } from '../../support/tcp-relay.js';
import { cancelMessage, eventually, insist, kick, PART } from './fixtures.js';
import { TestNatsServer } from './nats-server.js';

/** Three pings of 3 s, and what a busy machine adds. */
const NOTICED_MS = 9_000 + 2_500;
const HEALED_MS = 8_000;

describe('a connection to a server that says nothing', () => {
  let server: TestNatsServer;
  let relay: TcpRelay;
  let link: NatsLink;

  beforeEach(async () => {
    server = await TestNatsServer.start();
    relay = await TcpRelay.startTo(server.url);
    link = await NatsLink.open({ server: { natsUrl: relay.addressOf(server.url) }, name: 'silence' });
    await link.ensureTopology();
  });
  afterEach(async () => {
    await relay.mend();
    await link.close();
    await relay.cut();
    await server.stop();
  });

  for (const who of ['both', 'server', 'clients'] as const) {
    it(`(${who} unheard) is given up within ten seconds, and what used it goes on when it is mended`, async () => {
      const bus = new ActorBus(link);
      const mailbox = await bus.openMailbox(PART, 1);
      const leases = new KvLeaseBoard(link, { id: 'sched' });
      await leases.start();
      expect(await leases.acquire(PART)).toBe(true);

      relay.silent(who);
      const startedMs = performance.now();
      await expect(bus.publishActor(cancelMessage('lost'))).rejects.toMatchObject({ httpStatus: 503, retryable: true });
      await eventually(() => !link.isUp(), NOTICED_MS);
      expect(performance.now() - startedMs).toBeLessThan(NOTICED_MS);
      await expect(link.ping()).rejects.toThrow('NATS is not connected');

      await relay.mend();
      await insist(() => bus.publishActor(cancelMessage('back')), HEALED_MS);
      const got = new Set<string>();
      await eventually(async () => {
        for (const { envelope, ack } of await mailbox.take(10, 100)) {
          got.add(envelope.id);
          ack();
        }
        return got.has('back');
      }, HEALED_MS);
      await eventually(() => leases.renew(PART).catch(() => false), HEALED_MS);
      await Promise.all([mailbox.close(), leases.stop()]);
    }, 60_000);
  }

  it('is given up although more is to be sent than the way takes', async () => {
    const bus = new ActorBus(link);
    relay.silent('clients');
    const body = new Uint8Array(1_000_000);
    for (let n = 0; n < 30; n++) link.nc.publish('nobody.listens', body);
    await eventually(() => !link.isUp(), NOTICED_MS);
    await relay.mend();
    await insist(() => bus.publishWork('kick', 'hi', 'k1', kick('http://k/1')), HEALED_MS);
  }, 60_000);
});

describe('a replica that steps aside', () => {
  it('is no live member for the others until it steps in again', async () => {
    const server = await TestNatsServer.start();
    const links = await Promise.all(
      ['one', 'two'].map((name) => NatsLink.open({ server: { natsUrl: server.url }, name })),
    );
    await links[0]!.ensureTopology();
    const [one, two] = links.map((link, i) => new KvLeaseBoard(link, { id: `sched-${i}` }));
    await one!.start();
    await two!.start();
    await eventually(() => one!.liveMembers().length === 2 && two!.liveMembers().length === 2);
    await one!.acquire(PART);
    await one!.stepAside();
    await eventually(() => two!.liveMembers().length === 1);
    // Longer than from one beat to the next.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(two!.liveMembers()).toEqual(['sched-1']);
    expect(await one!.renew(PART)).toBe(true);
    await one!.stepIn();
    await eventually(() => two!.liveMembers().length === 2);
    await Promise.all([one!.stop(), two!.stop()]);
    await Promise.all(links.map((link) => link.close()));
    await server.stop();
  }, 30_000);
});
