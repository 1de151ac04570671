import { beforeEach, describe, expect, it } from '@jest/globals';
import { FencedError, type ActorStore, type TurnHead, type TurnWrites } from '@troupe/actors';
import type { RowOp } from '@troupe/contracts';
import { Metrics } from '@troupe/observability';
import { meteredStore } from './metered-store.js';

const HEAD: TurnHead = {
  part: 1,
  epoch: 1,
  fences: [{ key: 'crawl/a', rev: 1 }],
  candidates: [1, 2, 3].map((item) => ({
    jobNo: '1',
    depth: 1,
    item,
    host: 'a.test',
    url: `http://a.test/${item}`,
    h: '0'.repeat(16),
    parent: null,
  })),
  seeds: [],
};

const outcome = (value: 'ok' | 'failed', item: number): RowOp => ({
  op: 'outcome.insert',
  jobNo: '1',
  item,
  url: 'http://a.test/',
  parent: null,
  depth: 1,
  outcome: value,
  rule: null,
  statusCode: 200,
  bytes: 5,
  ms: 1,
  engine: 'http',
  attempts: 1,
});

const attempt = (status: number | null, final: boolean): RowOp => ({
  op: 'delivery.attempt',
  jobNo: '1',
  attempt: 1,
  final,
  eventNo: 1,
  status,
  error: null,
  ms: 1,
  atMs: 0,
});

const writesOf = (rows: RowOp[]): TurnWrites => ({
  actors: [],
  outbox: [],
  cursors: [],
  timers: [],
  rows,
  deadLetters: [],
});

let metrics: Metrics;
let failure: Error | null;
let store: Pick<ActorStore, 'commitTurn'>;

const commit = (rows: RowOp[]) => store.commitTurn(HEAD, () => writesOf(rows));
const value = async (series: string): Promise<number | null> => {
  const line = (await metrics.text()).split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? null : Number(line.split(' ').at(-1));
};

beforeEach(() => {
  metrics = new Metrics('scheduler');
  failure = null;
  const inner = {
    commitTurn: (_head: TurnHead, decide: Parameters<ActorStore['commitTurn']>[1]) => {
      decide({ admitted: new Map([['1', new Set([1, 3])]]), seeds: new Map() });
      return failure === null ? Promise.resolve() : Promise.reject(failure);
    },
  } as unknown as ActorStore;
  store = meteredStore(inner, metrics);
});

describe('a metered store', () => {
  it('counts pages, links and deliveries of turns that committed', async () => {
    await commit([outcome('ok', 1), outcome('ok', 2), outcome('failed', 3), attempt(204, true), attempt(null, true)]);
    expect(await value('troupe_pages_total{outcome="ok",service="scheduler"}')).toBe(2);
    expect(await value('troupe_pages_total{outcome="failed",service="scheduler"}')).toBe(1);
    expect(await value('troupe_links_total{found="new",service="scheduler"}')).toBe(2);
    expect(await value('troupe_links_total{found="known",service="scheduler"}')).toBe(1);
    expect(await value('troupe_webhook_attempts_total{result="delivered",service="scheduler"}')).toBe(1);
    expect(await value('troupe_webhook_attempts_total{result="dead",service="scheduler"}')).toBe(1);
    expect(await value('troupe_turn_seconds_count{service="scheduler"}')).toBe(1);
  });

  it('counts jobs whose counters were mended', async () => {
    const counters = { job: 'j', inflight: { was: -1, is: 0 }, ready: { was: 2, is: 1 } };
    expect(await value('troupe_counters_mended_total{service="scheduler"}')).toBe(0);
    await store.commitTurn(HEAD, () => ({ ...writesOf([]), mended: [counters] }));
    expect(await value('troupe_counters_mended_total{service="scheduler"}')).toBe(1);
  });

  it('counts nothing of a turn that did not commit but its failure, which it passes on', async () => {
    failure = new FencedError('another owner');
    await expect(commit([outcome('ok', 1)])).rejects.toBe(failure);
    expect(await value('troupe_pages_total{outcome="ok",service="scheduler"}')).toBe(0);
    expect(await value('troupe_turns_failed_total{reason="fenced",service="scheduler"}')).toBe(1);
    expect(await value('troupe_turn_seconds_count{service="scheduler"}')).toBe(0);
  });
});
