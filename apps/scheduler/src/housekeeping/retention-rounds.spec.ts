import { describe, expect, it } from '@jest/globals';
import { bucketsToDrop, RetentionRounds } from './retention-rounds.js';

const NOW = new Date(Date.UTC(2026, 10, 22, 10, 30));
const bucket = (hour: string, bytes: number) => ({ hour, bytes });

describe('hours of the cache to drop', () => {
  it.each([
    ['none while there is room', [bucket('2026112910', 60), bucket('2026112911', 40)], []],
    ['those that are over', [bucket('2026112209', 1), bucket('2026112210', 1)], ['2026112209']],
    [
      'the oldest, until a tenth of the room is free',
      [bucket('2026112909', 10), bucket('2026112910', 50), bucket('2026112911', 45)],
      ['2026112909', '2026112910'],
    ],
    ['not the newest, which is being written', [bucket('2026112911', 500)], []],
  ])('are %s', (_, buckets, dropped) => {
    expect([...bucketsToDrop(buckets, '2026112210', 100)]).toEqual(dropped);
  });

  it('are all of them when there is no cache any more', () => {
    expect([...bucketsToDrop([bucket('2026112911', 5)], '2026112210', 0)]).toEqual(['2026112911']);
  });
});

describe('a round', () => {
  function fixture(isLeader = true) {
    const log: string[] = [];
    const note =
      (name: string) =>
      async (arg?: string | number): Promise<void> =>
        void log.push(arg === undefined ? name : `${name} ${arg}`);
    const hours = (name: string, stored: string[]) => ({
      listHours: async () => stored,
      dropHour: note(`${name}.dropHour`),
    });
    const rounds = new RetentionRounds({
      rows: {
        eraseJobs: async () => {
          log.push('eraseJobs');
          return [];
        },
        unfinishedJobs: async () => new Set(['live']),
        cacheBuckets: async () => [bucket('2026112209', 1), bucket('2026112911', 1)],
        dropCachedPages: note('dropCachedPages'),
        dropCacheBucket: note('dropCacheBucket'),
        dropHistories: note('dropHistories'),
      },
      blobs: {
        cache: hours('cache', ['2026112910', '2026112911', '2026112912']) as never,
        snapshots: hours('snap', ['2026112209', '2026112210']) as never,
        artifacts: hours('art', ['2026112209', '2026112210']) as never,
        erasable: { jobs: async () => ['dead', 'live'], erase: note('erase'), of: () => ({}) as never },
      },
      runtime: { partitions: isLeader ? [0, 3] : [3] },
      cacheMaxBytes: 100,
      historyHours: 24,
      log: { info: () => undefined, warn: () => void log.push('warned') },
    });
    return { rounds, log };
  }

  it('erases rows before bodies, and bodies without rows', async () => {
    const { rounds, log } = fixture();
    await rounds.round(NOW);
    expect(log).toEqual([
      'eraseJobs',
      'erase dead',
      'dropCachedPages 2026112209',
      'cache.dropHour 2026112209',
      'dropCacheBucket 2026112209',
      'cache.dropHour 2026112910',
      'dropHistories 24',
      'snap.dropHour 2026112209',
      'art.dropHour 2026112209',
    ]);
  });

  it('is made by one replica', async () => {
    const { rounds, log } = fixture(false);
    await rounds.round(NOW);
    expect(log).toEqual([]);
  });
});
