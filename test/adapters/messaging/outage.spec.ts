import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Mailbox } from '@troupe/actors';
import {
  ActorBus,
  CancelBoard,
  KvLeaseBoard,
  NatsLink,
  NatsServerUnfitError,
  SlotBoard,
  WorkQueue,
} from '@troupe/messaging';
import { cancelMessage, eventually, insist, kick, PART } from './fixtures.js';
import { TestNatsServer } from './nats-server.js';

describe('a server that is killed and comes back', () => {
  let server: TestNatsServer;
  let link: NatsLink;

  beforeEach(async () => {
    server = await TestNatsServer.start();
    link = await NatsLink.open({ server: { natsUrl: server.url }, name: 'outage' });
    await link.ensureTopology();
  });
  afterEach(async () => {
    await link.close();
    await server.stop();
  });

  async function collect(mailbox: Mailbox, into: Set<string>): Promise<void> {
    for (const delivery of await mailbox.take(100, 100)) {
      into.add(delivery.envelope.id);
      delivery.ack();
    }
  }

  for (const isWiped of [false, true]) {
    it(`with ${isWiped ? 'an empty' : 'its'} store: mailbox, work, boards and leases go on within seconds`, async () => {
      const bus = new ActorBus(link, { publishTimeoutMs: 1_000 });
      const mailbox = await bus.openMailbox(PART, 1);
      const done = new Set<string>();
      const feed = await new WorkQueue(link).consume('kick', 'hi', { maxInFlight: 4 }, async (msg) => {
        if (msg.type === 'Kick' && msg.task === 'robots') done.add(msg.url);
      });
      const cancels = new CancelBoard(link);
      await cancels.start();
      const slots = new SlotBoard(link, { isAlive: () => true });
      const leases = new KvLeaseBoard(link, { id: 'sched' });
      await leases.start();
      expect(await leases.acquire(PART)).toBe(true);
      const got = new Set<string>();
      await bus.publishActor(cancelMessage('before'));
      await bus.publishWork('kick', 'hi', 'k1', kick('http://k/1'));
      await eventually(async () => {
        await collect(mailbox, got);
        return got.has('before') && done.has('http://k/1');
      });
      await bus.publishActor(cancelMessage('kept'));

      await server.kill();
      await eventually(() => !link.isUp());
      const start = performance.now();
      await expect(bus.publishActor(cancelMessage('during'))).rejects.toMatchObject({ retryable: true });
      expect(performance.now() - start).toBeLessThan(4_500);
      if (isWiped) server.wipe();
      await server.up();

      const backAt = performance.now();
      await insist(() => bus.publishActor(cancelMessage('after')));
      await insist(() => bus.publishWork('kick', 'hi', 'k2', kick('http://k/2')));
      await eventually(async () => {
        await collect(mailbox, got);
        return got.has('after') && done.has('http://k/2');
      });
      if (!isWiped) await eventually(async () => collect(mailbox, got).then(() => got.has('kept')));
      await insist(() => cancels.cancel('job-2'));
      const watching = new CancelBoard(link);
      await watching.start();
      expect(watching.isCancelled('job-2')).toBe(true);
      const verdict = await slots.claim('h.test', { i: 0, gen: 1, lane: 1, run: 'r', fetcher: 'f' });
      expect(verdict).toMatchObject({ previousFetcher: null });
      expect(await leases.renew(PART)).toBe(!isWiped);
      await eventually(async () => leases.free().length > 0);
      expect(performance.now() - backAt).toBeLessThan(20_000);
      await Promise.all([mailbox.close(), feed.stop(), cancels.stop(), watching.stop(), leases.stop()]);
    }, 60_000);
  }

  it('sees what another process cancels after the restart', async () => {
    const other = await NatsLink.open({ server: { natsUrl: server.url }, name: 'other' });
    await other.ensureTopology();
    const watching = new CancelBoard(link);
    await watching.start();
    const writing = new CancelBoard(other);
    await server.kill();
    server.wipe();
    await server.up();
    await insist(() => writing.cancel('job-3'));
    await eventually(() => watching.isCancelled('job-3'));
    await watching.stop();
    await other.close();
  }, 60_000);
});

describe('a server that cannot carry Troupe', () => {
  let server: TestNatsServer;
  beforeAll(async () => {
    server = await TestNatsServer.start({ maxPayload: '1MB' });
  });
  afterAll(() => server.stop());

  it('is refused with a sentence that says what to change', async () => {
    await expect(NatsLink.open({ server: { natsUrl: server.url }, name: 'x' })).rejects.toThrow(NatsServerUnfitError);
    await expect(NatsLink.open({ server: { natsUrl: server.url }, name: 'x' })).rejects.toThrow(
      /set max_payload to 8MB/,
    );
  });
});
