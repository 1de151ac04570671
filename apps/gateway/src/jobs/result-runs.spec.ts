import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JobFixture } from './job.fixture.js';
import { documentsOf, startOf } from './result-runs.js';
import { ReaderGate } from './reader-gate.js';

let job: JobFixture;
beforeEach(() => void (job = new JobFixture()));
afterEach(() => job.feeds.close());

const textsOf = (run: Parameters<typeof documentsOf>[0]) => [...documentsOf(run)].map(String);

describe('runs of results', () => {
  it('give their documents one by one and cut off at a count', async () => {
    job.results = 3;
    const run = (await job.runs.at(job.view(), 0))!;
    const wanted = [0, 1, 2].map((n) => `{"markdown":"page ${n}"}`);
    expect(textsOf(run)).toEqual(wanted);
    expect(String(run.bytes)).toBe(wanted.join(','));
    expect(textsOf(startOf(run, 2))).toEqual(wanted.slice(0, 2));
    expect(String(startOf(run, 2).bytes)).toBe(wanted.slice(0, 2).join(','));
  });

  it('are read a few at a time', async () => {
    let now = 0;
    let most = 0;
    const gate = new ReaderGate(4);
    const work = async (n: number) => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 1));
      now--;
      if (n === 3) throw new Error('three');
      return n;
    };
    const all = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => gate.pass(() => work(n))));
    expect(most).toBe(4);
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(19);
  });

  it('are read to their end before new ones are begun, but no reader waits for ever', async () => {
    const gate = new ReaderGate(1);
    const order: string[] = [];
    const enter = (name: string, isGoingOn: boolean) =>
      gate.pass(async () => {
        await Promise.resolve();
        order.push(name);
      }, isGoingOn);
    await Promise.all([
      enter('running', false),
      ...['new 1', 'new 2'].map((name) => enter(name, false)),
      ...['on 1', 'on 2', 'on 3'].map((name) => enter(name, true)),
    ]);
    expect(order).toEqual(['running', 'on 1', 'new 1', 'on 2', 'new 2', 'on 3']);
  });

  it('are read once for all who ask at the same time', async () => {
    job.results = 100;
    const runs = await Promise.all(Array.from({ length: 200 }, async () => job.runs.at(job.view(), 0)));
    expect(job.reads.pages).toBe(1);
    expect(new Set(runs).size).toBe(1);
  });

  it('meet at the same places wherever their readers began', async () => {
    job.results = 1000;
    job.status = 'completed';
    for (const start of [0, 3, 77])
      for (let from = start; ;) {
        const run = await job.runs.at(job.view(), from);
        if (run === null) break;
        from += run.count;
      }
    expect(job.reads.pages).toBeLessThanOrEqual(4 + 2 + 1);
  });

  it('are read from the tables once more when a look that began earlier found nothing', async () => {
    const early = job.runs.at(job.view(), 0);
    job.results = 1;
    expect(await early).not.toBeNull();
    const empty = job.runs.at(job.view(), 1);
    await Promise.resolve();
    await Promise.resolve();
    await Promise.resolve();
    job.results = 2;
    const late = job.runs.at(job.view(), 1);
    expect([await empty, (await late)?.count]).toEqual([null, 1]);
  });

  it('know the end of a job that is over without asking again', async () => {
    job.results = 2;
    job.status = 'completed';
    expect(await job.runs.at(job.view(), 2)).toBeNull();
    const { pages } = job.reads;
    expect(job.runs.at(job.view(), 2)).toBeNull();
    expect(job.reads.pages).toBe(pages);
  });

  it('find what came after the end of a batch that was opened again', async () => {
    job.results = 2;
    job.status = 'completed';
    await job.runs.at(job.view(), 2);
    job.status = 'scraping';
    job.results = 3;
    expect(await job.runs.at(job.view(), 2)).toMatchObject({ count: 1 });
  });

  it('of a job that goes on are read again soon, however often they are asked for', async () => {
    job.results = 1;
    const startedMs = performance.now();
    for (let i = 0; i < 12; i++) {
      await job.runs.at(job.view(), 0);
      await new Promise((resolve) => setTimeout(resolve, 100));
      job.results++;
    }
    expect((await job.runs.at(job.view(), 0))!.count).toBeGreaterThan(5);
    expect(job.reads.pages).toBeGreaterThan(1);
    expect(job.reads.pages).toBeLessThanOrEqual(1 + Math.floor((performance.now() - startedMs) / 1000));
  });

  it('keep no more bytes than they may', async () => {
    job.feeds.close();
    job = new JobFixture(() => ({ markdown: 'x'.repeat(10_000) }), 100_000);
    job.results = 100;
    job.status = 'completed';
    for (let round = 0; round < 2; round++)
      for (let from = 0; from < 100; from += 5) await job.runs.at(job.view(), from);
    expect(job.reads.pages).toBeGreaterThan(30);
  });

  it('of a job with zero data retention are gone with the answer', async () => {
    job.results = 3;
    job.status = 'completed';
    job.zdr = true;
    const both = await Promise.all([job.runs.at(job.view(), 0), job.runs.at(job.view(), 0)]);
    expect(both.map((run) => run!.count)).toEqual([3, 3]);
    expect(job.reads.pages).toBe(1);
    expect(await job.runs.at(job.view(), 0)).toMatchObject({ count: 3 });
    expect(job.reads.pages).toBe(2);
  });

  it('are not kept when a page of them cannot be read', async () => {
    let isBroken = true;
    job.feeds.close();
    job = new JobFixture(() => {
      if (isBroken) throw new Error('unreadable');
      return {};
    });
    job.results = 1;
    await expect(job.runs.at(job.view(), 0)).rejects.toThrow('unreadable');
    isBroken = false;
    expect(await job.runs.at(job.view(), 0)).toMatchObject({ count: 1 });
  });
});
