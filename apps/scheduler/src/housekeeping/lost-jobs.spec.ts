import { describe, expect, it } from '@jest/globals';
import type { LostJob } from '@troupe/persistence';
import { LostJobs } from './lost-jobs.js';

const lost = (job: string, why: LostJob['why'] = 'unstarted'): LostJob => ({ job, jobNo: '1', kind: 'crawl', why });

function roundOf(found: LostJob[], restart: (job: string) => Promise<boolean>, partitions = [0, 5]) {
  const failed: string[] = [];
  const restarted: string[] = [];
  const jobs = {
    find: () => Promise.resolve(found),
    restart: async ({ job }: LostJob) => {
      const isDone = await restart(job);
      if (isDone) restarted.push(job);
      return isDone;
    },
    fail: (job: string, error: string) => Promise.resolve(void failed.push(`${job}: ${error}`)),
  };
  const log = { info: () => undefined, warn: () => undefined } as never;
  return { rounds: new LostJobs({ jobs, runtime: { partitions }, lostAfterMs: 1, log }), failed, restarted };
}

describe('lost jobs', () => {
  it('are started again, or fail when that was tried too often or cannot help', async () => {
    const found = [lost('a'), lost('b'), lost('c', 'abandoned'), lost('d', 'endless')];
    const { rounds, failed, restarted } = roundOf(found, (job) => Promise.resolve(job !== 'b'));
    await rounds.round();
    expect(restarted).toEqual(['a']);
    expect(failed).toEqual([
      'b: The job could not be started',
      'c: The job could not be started',
      'd: the job did not finish within 48 hours',
    ]);
  });

  it('do not keep each other waiting', async () => {
    const { rounds, restarted } = roundOf([lost('a'), lost('b')], (job) =>
      job === 'a' ? Promise.reject(new Error('no answer')) : Promise.resolve(true),
    );
    await rounds.round();
    expect(restarted).toEqual(['b']);
  });

  it('are cared for by one replica', async () => {
    const { rounds, restarted } = roundOf([lost('a')], () => Promise.resolve(true), [5]);
    await rounds.round();
    expect(restarted).toEqual([]);
  });
});
