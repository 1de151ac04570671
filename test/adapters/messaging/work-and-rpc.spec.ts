import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BUCKETS, STREAM_WORK, TroupeError } from '@troupe/contracts';
import { ActorBus, GroupCall, HandlerPatternError, NatsLink, NatsStrategy, Rpc, WorkQueue } from '@troupe/messaging';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, kick } from './fixtures.js';
import { TestNatsServer } from './nats-server.js';

describe('work and requests on a real server', () => {
  let server: TestNatsServer;
  let link: NatsLink;
  let other: NatsLink;
  let bus: ActorBus;

  beforeAll(async () => {
    server = await TestNatsServer.start();
    link = await NatsLink.open({ server: { natsUrl: server.url }, name: 'a' });
    other = await NatsLink.open({ server: { natsUrl: server.url }, name: 'b' });
    await link.ensureTopology();
    bus = new ActorBus(link);
  });
  afterAll(async () => {
    await link.close();
    await other.close();
    await server.stop();
  });

  it('a busy worker leaves the rest of the work to others', async () => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    const busy: string[] = [];
    const slow = await new WorkQueue(link).consume('http', 'lo', { maxInFlight: 2 }, async (msg) => {
      if (msg.type === 'Kick' && msg.task === 'robots') busy.push(msg.url);
      await gate;
    });
    for (let n = 0; n < 6; n++) await bus.publishWork('http', 'lo', `busy-${n}`, kick(`u${n}`));
    await eventually(() => busy.length === 2);
    const free: string[] = [];
    const fast = await new WorkQueue(other).consume('http', 'lo', { maxInFlight: 8 }, async (msg) => {
      if (msg.type === 'Kick' && msg.task === 'robots') free.push(msg.url);
    });
    await eventually(() => free.length === 4);
    expect([...busy, ...free].sort()).toEqual(['u0', 'u1', 'u2', 'u3', 'u4', 'u5']);
    release();
    await slow.stop();
    await fast.stop();
    await eventually(async () => (await link.jsm.streams.info(STREAM_WORK)).state.messages === 0);
  });

  it('a question to all is answered by everybody who listens, and by nobody in time', async () => {
    const [one, two] = [link, other].map((at) => new GroupCall<string, string>(at, 'ask.test')) as [
      GroupCall<string, string>,
      GroupCall<string, string>,
    ];
    expect(await one.ask('hello', { expected: 2, waitMs: 200 })).toEqual([]);
    const stops = [one.answer((text) => `${text} one`), two.answer((text) => `${text} two`)];
    await Promise.all([link.nc.flush(), other.nc.flush()]);
    const answers = await one.ask('hello', { expected: 2, waitMs: 5_000 });
    expect(answers.sort()).toEqual(['hello one', 'hello two']);
    expect(await two.ask('hello', { expected: 3, waitMs: 200 })).toHaveLength(2);
    for (const stop of stops) stop();
  });

  it('a throw comes back after a second, retryMs when asked, both marked as redelivered', async () => {
    const seen: { at: number; redelivered: boolean }[] = [];
    const feed = await new WorkQueue(link).consume(
      'browser',
      'hi',
      { maxInFlight: 1 },
      async (_msg, { redelivered }) => {
        seen.push({ at: performance.now(), redelivered });
        if (seen.length === 1) throw new Error('once');
        return seen.length === 2 ? { retryMs: 300 } : undefined;
      },
    );
    await bus.publishWork('browser', 'hi', 'again', kick('again'));
    await eventually(() => seen.length === 3);
    expect(seen.map(({ redelivered }) => redelivered)).toEqual([false, true, true]);
    expect(seen[1]!.at - seen[0]!.at).toBeGreaterThan(900);
    expect(seen[2]!.at - seen[1]!.at).toBeGreaterThan(250);
    await feed.stop();
  });

  it('a paused feed takes nothing and a resumed one goes on', async () => {
    let count = 0;
    const feed = await new WorkQueue(link).consume('kick', 'lo', { maxInFlight: 4 }, async () => void count++);
    feed.pause();
    await bus.publishWork('kick', 'lo', 'paused', kick('paused'));
    await sleep(300);
    expect(count).toBe(0);
    feed.resume();
    await eventually(() => count === 1);
    await feed.stop();
  });

  it('a request carries head and body both ways, and errors keep their code', async () => {
    const serving = await new Rpc(other).serve('rpc.echo', { queue: 'q', capacity: 2 }, async (head, body) => {
      if ((head as { fail?: boolean }).fail) throw new TroupeError('SCRAPE_SITE_ERROR', 'broken', { retryable: true });
      return { head: { got: head }, body };
    });
    const rpc = new Rpc(link);
    const body = Buffer.alloc(2_000_000, 'abc');
    const reply = await rpc.call<{ got: unknown }>('rpc.echo', { id: 'r1', a: 'ä' }, body, { timeoutMs: 5_000 });
    expect(reply.head).toEqual({ got: { id: 'r1', a: 'ä' } });
    expect(Buffer.from(reply.body).equals(body)).toBe(true);
    await expect(rpc.call('rpc.echo', { fail: true }, null, { timeoutMs: 5_000 })).rejects.toMatchObject({
      code: 'SCRAPE_SITE_ERROR',
      retryable: true,
    });
    await serving.stop();
  });

  it('a request that nobody can take is tried for two thirds of its time, and served when somebody comes', async () => {
    const rpc = new Rpc(link);
    const start = performance.now();
    await expect(rpc.call('rpc.nobody', {}, null, { timeoutMs: 3_000 })).rejects.toMatchObject({
      code: 'CONCURRENCY_QUEUE_TIMEOUT',
    });
    expect(performance.now() - start).toBeGreaterThan(1_850);
    expect(performance.now() - start).toBeLessThan(2_900);
    const waiting = rpc.call<{ ok: boolean }>('rpc.late', {}, null, { timeoutMs: 5_000 });
    await sleep(200);
    const serving = await new Rpc(other).serve('rpc.late', { queue: 'q', capacity: 1 }, async () => ({
      head: { ok: true },
    }));
    expect((await waiting).head).toEqual({ ok: true });
    await serving.stop();
  });

  it('a request is not kept waiting for servers that are gone', async () => {
    const start = performance.now();
    const isServed = () => performance.now() - start < 300;
    await expect(new Rpc(link).call('rpc.gone', {}, null, { timeoutMs: 20_000, isServed })).rejects.toMatchObject({
      code: 'CONCURRENCY_QUEUE_TIMEOUT',
    });
    expect(performance.now() - start).toBeGreaterThan(290);
    expect(performance.now() - start).toBeLessThan(10_000);
  });

  it('a server never works on more than its capacity, and comes back when a place is free', async () => {
    let running = 0;
    let most = 0;
    const serving = await new Rpc(other).serve('rpc.narrow', { queue: 'q', capacity: 2 }, async () => {
      most = Math.max(most, ++running);
      await sleep(60);
      running--;
      return { head: {} };
    });
    const rpc = new Rpc(link);
    await Promise.all(Array.from({ length: 12 }, () => rpc.call('rpc.narrow', {}, null, { timeoutMs: 10_000 })));
    expect(most).toBe(2);
    await serving.stop();
  });

  it('a server that was silent for long may still answer, and is not told twice to do the work', async () => {
    const asked: (() => void)[] = [];
    let runs = 0;
    const handler = async () => {
      runs++;
      await sleep(200);
      return { head: { ok: true } };
    };
    const serving = await new Rpc(other).serve('rpc.behind', { queue: 'q', capacity: 4 }, handler);
    // A process whose loop stands still: what comes in is heard much later.
    const stalled = other.nc.subscribe('rpc.stalled', {
      callback: (_error, { data, reply }) => {
        asked.push(() => other.nc.publish('rpc.behind', data, { reply: reply ?? '' }));
      },
    });
    await other.nc.flush();
    const call = new Rpc(link).call<{ ok: boolean }>('rpc.stalled', { id: 'once' }, null, { timeoutMs: 20_000 });
    await eventually(() => asked.length === 2, 15_000);
    for (const go of asked) go();
    expect((await call).head).toEqual({ ok: true });
    expect(runs).toBe(1);
    stalled.unsubscribe();
    await serving.stop();
  });

  it('an abort and a timeout end the call here and the work there', async () => {
    let begun = 0;
    let aborted = 0;
    const serving = await new Rpc(other).serve(
      'rpc.slow',
      { queue: 'q', capacity: 4 },
      async (_head, _body, signal) => {
        begun++;
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        aborted++;
        return { head: {} };
      },
    );
    const rpc = new Rpc(link);
    const controller = new AbortController();
    const call = rpc.call('rpc.slow', { id: 'abort-1' }, null, { timeoutMs: 5_000, signal: controller.signal });
    const left = expect(call).rejects.toThrow('client left');
    await eventually(() => begun === 1);
    controller.abort(new Error('client left'));
    await left;
    await eventually(() => aborted === 1);
    await expect(rpc.call('rpc.slow', { id: 'abort-2' }, null, { timeoutMs: 1_500 })).rejects.toMatchObject({
      code: 'SCRAPE_TIMEOUT',
    });
    await eventually(() => aborted === 2);
    await serving.stop();
  });

  it('verdicts on hosts are shown to every fetcher, the newest of each', async () => {
    const verdict = { v: 7, state: 'paused', restMs: 2_000, gapMs: 250, share: 0.2 } as const;
    bus.tell('h.test:81', { ...verdict, v: 6 });
    bus.tell('h.test:81', verdict);
    const bucket = await other.kv(BUCKETS.penalty);
    const written: unknown[] = [];
    for await (const entry of await bucket.watch()) {
      written.push(entry.json());
      if (entry.json<{ v: number }>().v === 7) break;
    }
    expect(written.at(-1)).toEqual({ host: 'h.test:81', ...verdict });
  });

  it('Nest handlers are bound to work, requests and events, and a second handler of a pattern is refused', async () => {
    const strategy = new NatsStrategy({ link: other, expects: ['work.post.lo'] });
    const seen: unknown[] = [];
    strategy.addHandler('work.post.lo', async (msg: unknown) => void seen.push(msg), true);
    strategy.addHandler('rpc.nest', async (request: { head: object }) => ({ head: { back: request.head } }));
    strategy.addHandler('evt.nest', async (event: unknown) => void seen.push(event), true);
    expect(() => strategy.addHandler('rpc.nest', async () => undefined)).toThrow(HandlerPatternError);
    expect(() => strategy.addHandler('work.post.lo', async () => undefined, true)).toThrow(
      'work.post.lo has two handlers',
    );
    await new Promise<void>((resolve, reject) => strategy.listen(settle(resolve, reject)));
    await bus.publishWork('post', 'lo', 'nest', kick('nest'));
    await other.nc.flush();
    bus.notify('evt.nest', { n: 1 });
    await eventually(() => seen.length === 2);
    expect(seen).toContainEqual(kick('nest'));
    expect(seen).toContainEqual({ n: 1 });
    const reply = await new Rpc(link).call('rpc.nest', { x: 1 }, null, { timeoutMs: 2_000 });
    expect(reply.head).toEqual({ back: { x: 1 } });
    await strategy.close();
    const empty = new NatsStrategy({ link: other, expects: ['work.llm.hi'] });
    await expect(new Promise<void>((resolve, reject) => empty.listen(settle(resolve, reject)))).rejects.toThrow(
      'no handler for work.llm.hi',
    );
  });
});

function settle(resolve: () => void, reject: (error: Error) => void): (error?: unknown) => void {
  return (error) => (error instanceof Error ? reject(error) : resolve());
}
