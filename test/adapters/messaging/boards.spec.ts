import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type SlotTaken,
  ActorBus,
  CancelBoard,
  KvLeaseBoard,
  MemberBoard,
  NatsLink,
  PauseBoard,
  PenaltyBoard,
  ReceiverBoard,
  SlotBoard,
  type SlotHold,
} from '@troupe/messaging';
import { BUCKETS, type HostVerdict } from '@troupe/contracts';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from './fixtures.js';
import { TestNatsServer } from './nats-server.js';

describe('boards on a real server', () => {
  let server: TestNatsServer;
  let link: NatsLink;
  let other: NatsLink;

  beforeAll(async () => {
    server = await TestNatsServer.start();
    link = await NatsLink.open({ server: { natsUrl: server.url }, name: 'a' });
    other = await NatsLink.open({ server: { natsUrl: server.url }, name: 'b' });
    await Promise.all([link.ensureTopology(), other.ensureTopology()]);
  });
  afterAll(async () => {
    await link.close();
    await other.close();
    await server.stop();
  });

  it('a lease has one holder, is free at once when released and after the time to live when its holder falls silent', async () => {
    const ttlMs = 3_000;
    const a = new KvLeaseBoard(link, { id: 'sched-a', ttlMs });
    const b = new KvLeaseBoard(other, { id: 'sched-b', ttlMs });
    await a.start();
    await b.start();
    await eventually(() => a.liveMembers().length === 2);
    expect(a.free()).toHaveLength(64);
    const won = await Promise.all([a.acquire(3), b.acquire(3)]);
    expect(won.filter(Boolean)).toHaveLength(1);
    const [holder, rival] = won[0] ? [a, b] : [b, a];
    await eventually(() => !rival.free().includes(3));
    expect(await rival.renew(3)).toBe(false);
    for (let n = 0; n < 8; n++) {
      expect(await holder.renew(3)).toBe(true);
      await sleep(500);
      expect(rival.free()).not.toContain(3);
    }
    await holder.release(3);
    expect(await eventually(() => rival.free().includes(3))).toBeLessThan(ttlMs / 2);
    for (const [silent, watcher] of [
      [rival, holder],
      [holder, holder],
    ] as const) {
      const wonAt = performance.now();
      expect(await silent.acquire(3)).toBe(true);
      await eventually(() => !watcher.free().includes(3));
      await eventually(() => watcher.free().includes(3));
      expect(performance.now() - wonAt).toBeGreaterThan(ttlMs - 200);
      expect(performance.now() - wonAt).toBeLessThan(3 * ttlMs);
    }
    expect(await rival.renew(3)).toBe(false);
    await a.stop();
    await b.stop();
  });

  it('a receiver that does not answer rests everywhere, one post tries it after each rest, and an answer ends that', async () => {
    let now = 1_000_000;
    const options = { maxFailures: 3, restMs: 60_000, wallMs: () => now };
    const [a, b] = [new ReceiverBoard(link, options), new ReceiverBoard(other, options)];
    const host = 'tarpit.example';
    expect([await a.restMs(host), await b.restMs(host)]).toEqual([0, 0]);
    await a.tell(host, true);
    await Promise.all([a.tell(host, false), b.tell(host, false)]);
    expect([await a.restMs(host), await b.restMs(host)]).toEqual([0, 0]);
    await a.tell(host, true);
    await Promise.all([a.tell(host, false), b.tell(host, false), a.tell(host, false)]);
    expect([await a.restMs(host), await b.restMs(host)]).toEqual([60_000, 60_000]);
    now += 59_000;
    expect(await b.restMs(host)).toBe(1_000);
    now += 2_000;
    const trials = await Promise.all([a.restMs(host), b.restMs(host), a.restMs(host)]);
    expect(trials.filter((restMs) => restMs === 0)).toHaveLength(1);
    await b.tell(host, false);
    now += 10_000;
    expect(await a.restMs(host)).toBe(50_000);
    now += 51_000;
    expect(await a.restMs(host)).toBe(0);
    await a.tell(host, true);
    expect([await a.restMs(host), await b.restMs(host)]).toEqual([0, 0]);
    expect(await a.restMs('other.example')).toBe(0);
  });

  it('a slot obeys the fencing pair: newer takes, older is stale, the same is a duplicate until its holder dies and stale once it has ended', async () => {
    const alive = new Set(['f1', 'f2']);
    const members = { isAlive: (id: string) => alive.has(id) };
    const one = new SlotBoard(link, members);
    const two = new SlotBoard(other, members);
    const claim = (fetcher: string, gen: number, lane: number) => ({
      i: 0,
      gen,
      lane,
      run: `${fetcher}-${gen}-${lane}`,
      fetcher,
    });
    const first = await one.claim('h.test', claim('f1', 1, 1));
    expect(first).toMatchObject({ previousFetcher: null, isRerun: false });
    expect(await two.claim('h.test', claim('f2', 1, 1))).toBe('duplicate');
    alive.delete('f1');
    expect(await two.claim('h.test', claim('f2', 1, 1))).toMatchObject({ previousFetcher: 'f1', isRerun: true });
    alive.add('f1');
    expect(await one.renew((first as { held: SlotHold }).held)).toBe('moved');
    const next = (await one.claim('h.test', claim('f1', 1, 2))) as SlotTaken;
    expect(next).toMatchObject({ previousFetcher: 'f2', isRerun: false });
    expect(await one.renew(next.held)).toBe('kept');
    expect(await two.claim('h.test', claim('f2', 1, 1))).toBe('stale');
    await one.release(next.held);
    expect(await two.claim('h.test', claim('f2', 1, 2))).toBe('stale');
    const race = await Promise.all([one.claim('h.test', claim('f1', 2, 3)), two.claim('h.test', claim('f2', 2, 3))]);
    expect(race.filter((verdict) => typeof verdict === 'object')).toHaveLength(1);
    expect(race).toContain('duplicate');
  });

  it('express places go round first come first served inside a process, and never beyond their number', async () => {
    const members = { isAlive: () => true };
    const one = new SlotBoard(link, members);
    const two = new SlotBoard(other, members);
    const signal = new AbortController().signal;
    const a = (await one.claimExpress('x.test', 2, 'f1', signal))!;
    const b = (await two.claimExpress('x.test', 2, 'f2', signal))!;
    expect(a.key).not.toBe(b.key);
    const order: number[] = [];
    const waiting = [1, 2, 3].map(async (n) => {
      const hold = await one.claimExpress('x.test', 2, 'f1', signal);
      order.push(n);
      return hold!;
    });
    const gaveUp = new AbortController();
    const impatient = two.claimExpress('x.test', 2, 'f2', gaveUp.signal);
    await sleep(100);
    gaveUp.abort();
    expect(await impatient).toBeNull();
    expect(order).toEqual([]);
    await one.release(a);
    const second = await waiting[0]!;
    expect(second.revision).toBe(a.revision);
    await one.release(second);
    await one.release(await waiting[1]!);
    await one.release(await waiting[2]!);
    expect(order).toEqual([1, 2, 3]);
    const free = await two.claimExpress('x.test', 2, 'f2', signal);
    expect(free!.key).toBe(a.key);
  });

  it('an unused express place serves the next one of its process, and soon goes to whoever else waits', async () => {
    const members = { isAlive: () => true };
    const one = new SlotBoard(link, members);
    const two = new SlotBoard(other, members);
    const signal = new AbortController().signal;
    const first = (await one.claimExpress('spare.test', 1, 'f1', signal))!;
    await one.release(first);
    const again = (await one.claimExpress('spare.test', 1, 'f1', signal))!;
    expect(again.revision).toBe(first.revision);
    await one.release(again);
    const startedAt = performance.now();
    const theirs = (await two.claimExpress('spare.test', 1, 'f2', signal))!;
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(theirs.revision).toBeGreaterThan(first.revision);
    await two.release(theirs);
    await two.stop();
    expect(await one.claimExpress('spare.test', 1, 'f1', signal)).not.toBeNull();
  });

  it('a process that always has waiters does not keep an express place to itself', async () => {
    const members = { isAlive: () => true };
    const [one, two] = [new SlotBoard(link, members), new SlotBoard(other, members)];
    const done = new AbortController();
    const busy = Array.from({ length: 3 }, async () => {
      for (let hold; (hold = await one.claimExpress('busy.test', 1, 'f1', done.signal)) !== null;) {
        await sleep(5);
        await one.release(hold);
      }
    });
    await sleep(20);
    const theirs = await two.claimExpress('busy.test', 1, 'f2', AbortSignal.timeout(10_000));
    done.abort();
    expect(theirs).not.toBeNull();
    await Promise.all([...busy, two.release(theirs!)]);
  });

  it('the express place of a dead process is taken over', async () => {
    const alive = new Set(['f1', 'f2']);
    const members = { isAlive: (id: string) => alive.has(id) };
    const signal = new AbortController().signal;
    await new SlotBoard(link, members).claimExpress('dead.test', 1, 'f1', signal);
    const waiting = new SlotBoard(other, members).claimExpress('dead.test', 1, 'f2', signal);
    await sleep(80);
    alive.delete('f1');
    expect(await waiting).not.toBeNull();
  });

  it('members are seen while they beat, and at once no more when they leave', async () => {
    const a = new MemberBoard(link, { ttlMs: 2_000, beatMs: 200 });
    const b = new MemberBoard(other, { ttlMs: 2_000, beatMs: 200 });
    await a.start({ id: 'm-a', kind: 'fetcher' });
    await b.start({ id: 'm-b', kind: 'gateway' });
    await eventually(() => a.isAlive('m-b'));
    await sleep(2_500);
    expect(a.list()).toContainEqual({ id: 'm-b', kind: 'gateway' });
    expect(a.isAlive('nobody')).toBe(false);
    await b.stop();
    expect(await eventually(() => !a.isAlive('m-b'))).toBeLessThan(1_500);
    await a.stop();
  });

  it('cancels reach the other processes, and those that start later', async () => {
    const here = new CancelBoard(link);
    const there = new CancelBoard(other);
    await Promise.all([here.start(), there.start()]);
    const heard: string[] = [];
    there.onCancel((job) => heard.push(job));
    await here.cancel('job-1');
    await eventually(() => there.isCancelled('job-1'));
    expect(heard).toEqual(['job-1']);
    const late = new CancelBoard(other);
    await late.start();
    expect(late.isCancelled('job-1')).toBe(true);
    await Promise.all([here.stop(), there.stop(), late.stop()]);
  });

  it('verdicts on hosts reach the fetchers, older ones change nothing, and rests count from receipt', async () => {
    let now = 0;
    const board = new PenaltyBoard(other, () => now);
    await board.start();
    const bus = new ActorBus(link);
    const slowed: HostVerdict = { v: 5, state: 'slowed', restMs: 0, gapMs: 700, share: 0.25 };
    bus.tell('slow.test:81', slowed);
    await eventually(() => board.of('slow.test:81').state === 'slowed');
    expect(board.of('slow.test:81')).toEqual({ state: 'slowed', restMs: 0, gapMs: 700, share: 0.25 });
    expect(board.of('other.test')).toEqual({ state: 'open', restMs: 0, gapMs: 0, share: 1 });
    bus.tell('slow.test:81', { ...slowed, v: 4, gapMs: 1 });
    bus.tell('fence.test', { ...slowed, v: 1 });
    await eventually(() => board.of('fence.test').gapMs === 700);
    expect(board.of('slow.test:81').gapMs).toBe(700);
    bus.tell('slow.test:81', { ...slowed, v: 6, state: 'paused', restMs: 5_000 });
    await eventually(() => board.of('slow.test:81').state === 'paused');
    now = 2_000;
    expect(board.of('slow.test:81').restMs).toBe(3_000);
    now = 94_000;
    expect(board.of('slow.test:81').state).toBe('paused');
    now = 96_000;
    expect(board.of('slow.test:81').state).toBe('open');
    await board.stop();
  });

  it('a fetcher that starts late reads no verdict that nobody stands by, also where an earlier version kept them longer', async () => {
    const old = await TestNatsServer.start();
    const first = await NatsLink.open({ server: { natsUrl: old.url }, name: 'old' });
    await first.ensureTopology();
    const name = `KV_${BUCKETS.penalty}`;
    const { config } = await first.jsm.streams.info(name);
    const ttlMs = (nanos: number) => nanos / 1_000_000;
    expect(ttlMs(config.max_age)).toBe(90_000);
    await first.jsm.streams.update(name, { ...config, max_age: config.max_age * 10 });
    await first.ensureTopology();
    const again = (await first.jsm.streams.info(name)).config;
    expect([ttlMs(again.max_age), again.duplicate_window <= again.max_age]).toEqual([90_000, true]);
    await first.close();
    await old.stop();
  });

  it('a pause is known everywhere at once, and older news written later change nothing', async () => {
    const writer = new PauseBoard(link);
    const reader = new PauseBoard(other);
    const late = new PauseBoard(other);
    await reader.start();
    await writer.put('job-p', { v: 1, paused: true });
    expect(writer.newsSince('job-p', 0)).toEqual({ v: 1, paused: true });
    expect(await eventually(() => reader.newsSince('job-p', 0) !== null)).toBeLessThan(500);
    await writer.put('job-p', { v: 2, paused: false });
    await eventually(() => reader.newsSince('job-p', 1) !== null);
    await new PauseBoard(link).put('job-p', { v: 1, paused: true });
    await writer.put('job-q', { v: 1, paused: true });
    await eventually(() => reader.newsSince('job-q', 0) !== null);
    expect(reader.newsSince('job-p', 1)).toEqual({ v: 2, paused: false });
    expect([reader.newsSince('job-p', 2), reader.newsSince('job-r', 0)]).toEqual([null, null]);
    await late.start();
    expect(late.newsSince('job-q', 0)).toEqual({ v: 1, paused: true });
    await reader.stop();
    await late.stop();
  });
});
