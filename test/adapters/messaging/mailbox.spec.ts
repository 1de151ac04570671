import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it } from '@jest/globals';
import { FencedError } from '@troupe/actors';
import { STREAM_ACT, actorKey, partitionOf } from '@troupe/contracts';
import { ActorBus, MessageTooLargeError, NatsLink, type Poison } from '@troupe/messaging';
import { randomBytes } from 'node:crypto';
import { cancelMessage, CRAWL, eventually, idsOf, PART, takeCount } from './fixtures.js';
import { TestNatsServer } from './nats-server.js';

describe('mailboxes on a real server', () => {
  let server: TestNatsServer;
  let link: NatsLink;
  let other: NatsLink;

  beforeAll(async () => {
    server = await TestNatsServer.start();
    link = await NatsLink.open({ server: { natsUrl: server.url }, name: 'a' });
    other = await NatsLink.open({ server: { natsUrl: server.url }, name: 'b' });
    await Promise.all([link, other, link, other, link, other].map((each) => each.ensureTopology()));
  });
  afterAll(async () => {
    await link.close();
    await other.close();
    await server.stop();
  });
  let epoch = 0;
  beforeEach(async () => {
    epoch += 10;
    await link.jsm.streams.purge(STREAM_ACT);
  });
  afterEach(async () => {
    for await (const consumer of link.jsm.consumers.list(STREAM_ACT))
      await link.jsm.consumers.delete(STREAM_ACT, consumer.name);
  });

  it('delivers in the order of calls although nobody waits for the stream between them', async () => {
    const bus = new ActorBus(link);
    const ids = Array.from({ length: 500 }, (_, n) => `order-${epoch}-${n}`);
    await Promise.all(ids.map((id) => bus.publishActor(cancelMessage(id))));
    const mailbox = await bus.openMailbox(PART, epoch);
    const taken = await takeCount(mailbox, 500);
    expect(idsOf(taken)).toEqual(ids);
    expect(taken[0]!.envelope).toEqual(cancelMessage(ids[0]!));
    await mailbox.close();
  });

  it('hands unacknowledged messages to a new epoch at once and in order, and the old epoch can no longer settle them', async () => {
    const oldBus = new ActorBus(link);
    const newBus = new ActorBus(other);
    const ids = ['1', '2', '3'].map((n) => `move-${epoch}-${n}`);
    for (const id of ids) await oldBus.publishActor(cancelMessage(id));
    const oldBox = await oldBus.openMailbox(PART, epoch);
    const before = await takeCount(oldBox, 3);
    before[0]!.ack();
    await link.nc.flush();

    const start = performance.now();
    const newBox = await newBus.openMailbox(PART, epoch + 1);
    const after = await takeCount(newBox, 2);
    expect(idsOf(after)).toEqual(ids.slice(1));
    expect(performance.now() - start).toBeLessThan(5_000);

    for (const delivery of before) delivery.ack();
    await link.nc.flush();
    expect((await link.jsm.streams.info(STREAM_ACT)).state.messages).toBe(2);
    for (const delivery of after) delivery.ack();
    await eventually(async () => (await link.jsm.streams.info(STREAM_ACT)).state.messages === 0);
    await expect(eventually(() => oldBox.take(1, 50).then(() => false))).rejects.toThrow(FencedError);
    await newBox.close();
  });

  it('refuses an epoch that is lower than the present one', async () => {
    const mailbox = await new ActorBus(link).openMailbox(PART, epoch);
    await expect(new ActorBus(other).openMailbox(PART, epoch - 1)).rejects.toThrow(FencedError);
    await mailbox.close();
  });

  it('finds messages that the server believes delivered and that never arrived', async () => {
    const bus = new ActorBus(link);
    const mailbox = await bus.openMailbox(PART, epoch);
    const thief = await other.js.consumers.get(STREAM_ACT, `p${String(PART).padStart(2, '0')}-e${epoch}`);
    const name = thief.info(true).then((info) => info.name);
    // A pull of a foreign inbox steals the delivery and never acknowledges it.
    const inbox = `stolen.${epoch}`;
    const stolen = other.nc.subscribe(inbox);
    other.nc.publish(
      `$JS.API.CONSUMER.MSG.NEXT.${STREAM_ACT}.${await name}`,
      JSON.stringify({ batch: 1, expires: 5e9 }),
      { reply: inbox },
    );
    await other.nc.flush();
    const ids = [`gap-${epoch}-1`, `gap-${epoch}-2`];
    for (const id of ids) await bus.publishActor(cancelMessage(id));
    const taken = new Set<string>();
    await eventually(async () => {
      for (const delivery of await mailbox.take(10, 100)) {
        taken.add(delivery.envelope.id);
        delivery.ack();
      }
      return taken.size === 2;
    });
    expect([...taken].sort()).toEqual(ids);
    stolen.unsubscribe();
    await mailbox.close();
  });

  it('hands a message back for later, and does not take that for a loss', async () => {
    const bus = new ActorBus(link);
    await bus.publishActor(cancelMessage(`nack-${epoch}`));
    const mailbox = await bus.openMailbox(PART, epoch);
    const [first] = await takeCount(mailbox, 1);
    const start = performance.now();
    first!.nack(3_000);
    const [second] = await takeCount(mailbox, 1);
    expect(second!.envelope.id).toBe(`nack-${epoch}`);
    expect(performance.now() - start).toBeGreaterThan(2_900);
    second!.ack();
    await mailbox.close();
  });

  it('sets an unreadable message aside and delivers the others', async () => {
    const poison: Poison[] = [];
    const bus = new ActorBus(link, { onPoison: async (message) => void poison.push(message) });
    await link.js.publish(`act.${PART}.crawl.x`, 'no envelope');
    await bus.publishActor(cancelMessage(`good-${epoch}`));
    const mailbox = await bus.openMailbox(PART, epoch);
    const taken = await takeCount(mailbox, 1);
    expect(idsOf(taken)).toEqual([`good-${epoch}`]);
    expect(poison.map(({ subject }) => subject)).toEqual([`act.${PART}.crawl.x`]);
    taken[0]!.ack();
    await eventually(async () => (await link.jsm.streams.info(STREAM_ACT)).state.messages === 0);
    await mailbox.close();
  });

  it('delivers an unknown schema version, and ids that no subject could hold', async () => {
    const key = actorKey('domain', 'example.test:8080');
    const bus = new ActorBus(link);
    await bus.publishActor({ ...cancelMessage(`v-${epoch}`, key), v: 99, n: 7 });
    const mailbox = await bus.openMailbox(partitionOf(key), epoch);
    const [delivery] = await takeCount(mailbox, 1);
    expect(delivery!.envelope).toMatchObject({ v: 99, n: 7, to: key });
    delivery!.ack();
    await mailbox.close();
  });

  it('compresses large bodies and refuses, by name and size, what does not fit even so', async () => {
    const bus = new ActorBus(link);
    const soft = { ...cancelMessage(`soft-${epoch}`), body: { type: 'Cancel' as const, job: 'x'.repeat(3_000_000) } };
    await bus.publishActor(soft);
    const mailbox = await bus.openMailbox(PART, epoch);
    const [delivery] = await takeCount(mailbox, 1);
    expect(delivery!.envelope).toEqual(soft);
    delivery!.ack();
    const hard = {
      ...soft,
      id: `hard-${epoch}`,
      body: { type: 'Cancel' as const, job: randomBytes(600_000).toString('base64') },
    };
    await expect(bus.publishActor(hard)).rejects.toThrow(MessageTooLargeError);
    await expect(bus.publishActor(hard)).rejects.toThrow(/^A Cancel of \d+ bytes/);
    await mailbox.close();
  });

  it('returns at once when it is woken', async () => {
    const mailbox = await new ActorBus(link).openMailbox(PART, epoch);
    const taking = mailbox.take(10, 10_000);
    const since = performance.now();
    mailbox.wake();
    expect(await taking).toEqual([]);
    expect(performance.now() - since).toBeLessThan(2_000);
    await mailbox.close();
  });

  it('returns nothing after the idle time', async () => {
    const mailbox = await new ActorBus(link).openMailbox(partitionOf(CRAWL), epoch);
    expect(await mailbox.take(10, 50)).toEqual([]);
    await mailbox.close();
  });
});
