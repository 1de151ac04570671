import { describe, expect, it } from '@jest/globals';
import type { JobKind } from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { unavailable } from '../errors/api-error.js';
import { BatchAppendService, MAX_BATCH_SEEDS } from './batch-append.service.js';
import { CrawlPauseService } from './crawl-pause.service.js';
import { type JobCommands, type JobView, type RecordedCommand } from './ports.js';

const ID = '6f0c0000-0000-4000-8000-000000000000';
const CALLER: Caller = {
  team: 'team-a',
  teamName: 'a',
  keyId: null,
  concurrency: 10,
  creditsLimit: null,
  hasModel: false,
  flags: {},
};
const COMMAND = { id: 'c', envelope: {} } as RecordedCommand;
const SEEDS = [{ url: 'http://a/', host: 'a' }];

/** Everything around the two services; what they do, in order. */
function around(kind: JobKind, jobs: Partial<JobCommands>, isUp = true) {
  const done: string[] = [];
  const parts = {
    status: { find: () => Promise.resolve({ job: ID, jobNo: '1', team: CALLER.team, kind } as JobView) },
    jobs: { append: () => Promise.reject(new Error('unasked')), setPaused: () => Promise.resolve(null), ...jobs },
    gate: {
      charge: (_caller: Caller, urls: number) => {
        done.push(`admit ${urls}`);
        return Promise.resolve();
      },
    },
    commands: {
      ensureUp: () => {
        if (!isUp) throw unavailable(null);
      },
      send: ({ id }: RecordedCommand) => void done.push(`send ${id}`),
    },
    pauses: {
      put: (job: string, { v, paused }: { v: number; paused: boolean }) => {
        done.push(`board ${job} ${v} ${paused}`);
        return Promise.resolve();
      },
    },
  };
  const { status, jobs: recorder, gate, commands, pauses } = parts;
  return {
    done,
    appends: new BatchAppendService(status, gate, recorder, commands),
    pauses: new CrawlPauseService(status, recorder, pauses, commands),
  };
}

describe('appending', () => {
  it('is done when it is recorded, and its command is sent', async () => {
    const asked: unknown[] = [];
    const { done, appends } = around('batch', {
      append: (input) => {
        asked.push(input);
        return Promise.resolve({ command: COMMAND });
      },
    });
    await appends.append(CALLER, ID, SEEDS, 'key');
    expect(asked).toMatchObject([
      { job: ID, jobNo: '1', team: 'team-a', seeds: SEEDS, idempotencyKey: 'key', maxSeeds: MAX_BATCH_SEEDS },
    ]);
    expect(done).toEqual(['admit 1', 'send c']);
  });

  it.each([
    ['ended', 409],
    ['old', 409],
    ['full', 400],
  ] as const)('is refused when the batch is %s, with %i', async (refusal, status) => {
    const { appends, done } = around('batch', { append: () => Promise.resolve({ refusal }) });
    await expect(appends.append(CALLER, ID, SEEDS, null)).rejects.toMatchObject({ status });
    expect(done).toEqual(['admit 1']);
  });

  it('finds no batch where there is a crawl, and records nothing while NATS is away', async () => {
    await expect(around('crawl', {}).appends.append(CALLER, ID, SEEDS, null)).rejects.toMatchObject({ status: 404 });
    await expect(around('batch', {}, false).appends.append(CALLER, ID, SEEDS, null)).rejects.toMatchObject({
      status: 503,
    });
  });
});

describe('pausing', () => {
  const recorded = (command: RecordedCommand | null) => ({
    setPaused: (_job: string, _jobNo: string, paused: boolean) => Promise.resolve({ news: { v: 3, paused }, command }),
  });

  it('is done when fetchers can see it, and its command is sent', async () => {
    const { done, pauses } = around('crawl', recorded(COMMAND));
    await pauses.setPaused(CALLER, ID, true);
    expect(done).toEqual(['send c', `board ${ID} 3 true`]);
  });

  it('again tells fetchers again, and the crawl nothing', async () => {
    const { done, pauses } = around('crawl', recorded(null));
    await pauses.setPaused(CALLER, ID, false);
    expect(done).toEqual([`board ${ID} 3 false`]);
  });

  it('needs a crawl that is not over', async () => {
    await expect(around('crawl', {}).pauses.setPaused(CALLER, ID, true)).rejects.toMatchObject({ status: 409 });
    await expect(around('batch', {}).pauses.setPaused(CALLER, ID, true)).rejects.toMatchObject({ status: 404 });
  });
});
