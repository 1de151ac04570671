/** Processes that are killed are known to be gone within seconds; those that only stand still keep what they have. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { STREAM_WORK, TroupeError } from '@troupe/contracts';
import { ActorBus, MemberBoard, NatsLink, Rpc, WorkQueue } from '@troupe/messaging';
import { nanos } from '@nats-io/nats-core';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, kick } from './fixtures.js';
import { TestNatsServer } from './nats-server.js';

/** Longest time after which what a dead process had is with another one. */
const TAKEN_OVER_MS = 5_000;

describe('a process that is gone', () => {
  let server: TestNatsServer;
  let link: NatsLink;
  const opened: NatsLink[] = [];
  const unended: { stop(): Promise<void> }[] = [];
  /** Lets go of what has no end of its own. */
  let release = (): void => undefined;
  const never = new Promise<void>((resolve) => (release = resolve));

  /** A connection that ends as that of a killed process does: without a word. */
  async function process(name: string): Promise<NatsLink> {
    const other = await NatsLink.open({ server: { natsUrl: server.url }, name });
    opened.push(other);
    return other;
  }

  beforeAll(async () => {
    server = await TestNatsServer.start();
    link = await process('watcher');
    await link.ensureTopology();
  });
  afterAll(async () => {
    release();
    await Promise.all(unended.map((feed) => feed.stop()));
    await Promise.all(opened.map((each) => each.close()));
    await server.stop();
  });

  it('is no member any more long before its time to live, while one that only stands still is', async () => {
    const ttlMs = 20_000;
    const board = new MemberBoard(link, { ttlMs });
    const [dying, still] = [await process('dying'), await process('still')];
    await board.start({ id: 'watcher', kind: 'fetcher' });
    const killed = new MemberBoard(dying, { ttlMs });
    await killed.start({ id: 'dying', kind: 'fetcher' });
    // It beats no more, but its connection is there and answers.
    const silent = new MemberBoard(still, { ttlMs, beatMs: 600_000 });
    await silent.start({ id: 'still', kind: 'fetcher' });
    await eventually(() => board.isAlive('dying') && board.isAlive('still'));
    await dying.nc.close();
    const ms = await eventually(() => !board.isAlive('dying'));
    expect(ms).toBeLessThan(TAKEN_OVER_MS - 1_000);
    expect(ms).toBeGreaterThan(1_000);
    await sleep(2_000);
    expect(board.isAlive('still')).toBe(true);
    // Who comes later finds its last beat, and learns as soon that nobody is behind it.
    const late = new MemberBoard(await process('late'), { ttlMs });
    await late.start({ id: 'late', kind: 'fetcher' });
    expect(await eventually(() => !late.isAlive('dying'))).toBeLessThan(3_000);
    expect(late.isAlive('still')).toBe(true);
    expect(board.list().map(({ id }) => id)).toEqual(expect.arrayContaining(['watcher', 'still']));
    for (const each of [board, silent, killed, late]) await each.stop();
  });

  it('is still a member when it is back within a second', async () => {
    const board = new MemberBoard(link, { ttlMs: 20_000 });
    const away = await process('away');
    const other = new MemberBoard(away, { ttlMs: 20_000 });
    await board.start({ id: 'watcher', kind: 'fetcher' });
    await other.start({ id: 'away', kind: 'fetcher' });
    await eventually(() => board.isAlive('away'));
    await away.nc.reconnect();
    const until = performance.now() + 4_000;
    while (performance.now() < until) {
      expect(board.isAlive('away')).toBe(true);
      await sleep(20);
    }
    await board.stop();
    await other.stop();
  });

  it('is seen, by itself, only as long as its beats are stored', async () => {
    const other = await process('cut');
    const board = new MemberBoard(other);
    expect(board.isSurelySeen()).toBe(false);
    await board.start({ id: 'cut', kind: 'fetcher' });
    await sleep(1_500);
    expect(board.isSurelySeen()).toBe(true);
    await other.nc.close();
    expect(await eventually(() => !board.isSurelySeen())).toBeLessThan(2_100);
    await board.stop();
  });

  it('leaves its lanes to others within seconds', async () => {
    const bus = new ActorBus(link);
    const dying = await process('dying');
    let began = 0;
    const lost = await new WorkQueue(dying).consume('http', 'hi', { maxInFlight: 4 }, async () => {
      began++;
      await never;
    });
    await bus.publishWork('http', 'hi', 'lane-1', kick('lane-1'));
    await eventually(() => began === 1);
    const seen: boolean[] = [];
    const feed = await new WorkQueue(link).consume('http', 'hi', { maxInFlight: 4 }, async (_msg, delivery) => {
      seen.push(delivery.redelivered);
    });
    // Alive it keeps it, however long it takes.
    await sleep(6_000);
    expect(seen).toEqual([]);
    await dying.nc.close();
    expect(await eventually(() => seen.length > 0)).toBeLessThan(TAKEN_OVER_MS);
    expect(seen).toEqual([true]);
    await feed.stop();
    unended.push(lost);
  });

  it('finds the queues as an older version has made them, and changes them', async () => {
    const consumer = 'w-browser-lo';
    await link.jsm.consumers.add(STREAM_WORK, {
      durable_name: consumer,
      filter_subject: 'work.browser.lo',
      ack_policy: 'explicit',
      ack_wait: nanos(30_000),
      max_ack_pending: 20_000,
      max_deliver: -1,
    });
    const feed = await new WorkQueue(link).consume('browser', 'lo', { maxInFlight: 1 }, async () => undefined);
    const { config } = await link.jsm.consumers.info(STREAM_WORK, consumer);
    expect(config.ack_wait).toBe(nanos(4_000));
    await feed.stop();
  });

  it('leaves its requests to another server, but those that must not be done twice to their caller', async () => {
    const dying = await process('dying');
    const began: string[] = [];
    const lost = await new Rpc(dying).serve('rpc.dying', { queue: 'q', capacity: 4 }, async (head) => {
      began.push((head as { id: string }).id);
      await never;
      return { head: {} };
    });
    const rpc = new Rpc(link);
    const whenLost = () => new TroupeError('SCRAPE_ACTION_ERROR', 'gone', { retryable: true });
    const calls = [
      rpc.call<{ by: string }>('rpc.dying', { id: 'again' }, null, { timeoutMs: 30_000 }),
      rpc.call('rpc.dying', { id: 'once' }, null, { timeoutMs: 30_000, whenLost }).catch((error: unknown) => error),
    ] as const;
    await eventually(() => began.length === 2);
    const served: string[] = [];
    const heir = await process('heir');
    const serving = await new Rpc(heir).serve('rpc.dying', { queue: 'q', capacity: 4 }, async (head) => {
      served.push((head as { id: string }).id);
      return { head: { by: 'heir' } };
    });
    await sleep(1_000);
    const diedAt = performance.now();
    await dying.nc.close();
    expect((await calls[0]).head).toEqual({ by: 'heir' });
    expect(await calls[1]).toMatchObject({ code: 'SCRAPE_ACTION_ERROR', retryable: true });
    expect(performance.now() - diedAt).toBeLessThan(TAKEN_OVER_MS);
    expect(served).toEqual(['again']);
    await serving.stop();
    unended.push(lost);
  });
});
