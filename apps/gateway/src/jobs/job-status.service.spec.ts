import { describe, expect, it } from '@jest/globals';
import { type JobProgress, type JobStatus } from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { JobStatusService } from './job-status.service.js';
import { type JobView, type PageRow } from './ports.js';
import { ProgressWatch } from './progress-watch.js';

const ID = '6f0c0000-0000-4000-8000-000000000000';
const CALLER: Caller = { team: 'team-a', teamName: 'a', keyId: null, concurrency: 10, creditsLimit: null, flags: {} };
const never = new AbortController().signal;

function fixture(stored: number, status: JobStatus) {
  const state = { stored, status, reads: 0 };
  const listeners = new Set<(progress: JobProgress) => void>();
  const view = (): JobView => ({
    job: ID,
    jobNo: '1',
    team: 'team-a',
    kind: 'crawl',
    status: state.status,
    paused: false,
    total: state.stored,
    completed: state.stored,
    creditsUsed: state.stored,
    createdAt: new Date(0),
    finishedAt: null,
    expiresAt: new Date(0),
    error: null,
    warning: null,
    originUrl: null,
    wireOptions: null,
  });
  const row = (ord: number): PageRow => ({ ord, item: ord, url: '', bytes: 10, blob: null, inline: Buffer.alloc(0) });
  const jobs = {
    find: (id: string) => Promise.resolve(id === ID ? view() : null),
    tombstone: (id: string) =>
      Promise.resolve(id.startsWith('dead') ? { team: 'team-a', kind: 'crawl' as const } : null),
    pages: (_jobNo: string, skip: number, limit: number | null, maxBytes: number) => {
      state.reads++;
      const fitting = Math.max(1, Math.floor(maxBytes / 10));
      const count = Math.max(0, Math.min(state.stored - skip, limit ?? Infinity, fitting));
      return Promise.resolve(Array.from({ length: count }, (_, i) => row(skip + i + 1)));
    },
    errors: () => Promise.resolve([]),
    robotsBlocked: () => Promise.resolve([]),
    active: () => Promise.resolve([]),
  };
  const listener = {
    listen: <T>(_subject: string, onMessage: (message: T) => void) => {
      const entry = onMessage as (progress: JobProgress) => void;
      listeners.add(entry);
      return () => listeners.delete(entry);
    },
  };
  const watch = new ProgressWatch(listener);
  const tell = (ord: number) => {
    const progress = { job: ID, status: state.status, total: ord, completed: ord, ord };
    for (const listen of listeners) listen(progress);
  };
  return { service: new JobStatusService(jobs, watch), state, tell, listeners, watch };
}

const ask = (skip: number, limit: number | null = null, mayHold = true) => ({ skip, limit, mayHold });

describe('JobStatusService', () => {
  it('always has a next page while the job runs', async () => {
    const { service } = fixture(3, 'scraping');
    expect(await service.page(CALLER, ID, ask(0), never)).toMatchObject({ nextSkip: 3 });
  });

  it('has a next page after the end only while results remain', async () => {
    const { service } = fixture(5, 'completed');
    expect(await service.page(CALLER, ID, ask(0, 2), never)).toMatchObject({ nextSkip: 2 });
    expect(await service.page(CALLER, ID, ask(3, 2), never)).toMatchObject({ nextSkip: null });
    expect(await service.page(CALLER, ID, ask(9), never)).toMatchObject({ nextSkip: null, rows: [] });
  });

  it('answers a request without skip at once, even with nothing to tell', async () => {
    const { service, listeners } = fixture(0, 'scraping');
    expect(await service.page(CALLER, ID, ask(0, null, false), never)).toMatchObject({ nextSkip: 0, rows: [] });
    expect(listeners.size).toBe(0);
  });

  it('holds a request that is up to date until a result arrives', async () => {
    const { service, state, tell, listeners } = fixture(2, 'scraping');
    const startedMs = performance.now();
    const held = service.page(CALLER, ID, ask(2), never);
    setTimeout(() => {
      state.stored = 3;
      tell(3);
    }, 30);
    expect(await held).toMatchObject({ nextSkip: 3 });
    expect(performance.now() - startedMs).toBeLessThan(1500);
    expect(listeners.size).toBe(0);
  });

  it('does not read for progress that is no news to the request', async () => {
    const { service, state, tell } = fixture(2, 'scraping');
    const held = service.page(CALLER, ID, ask(2), never);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const reads = state.reads;
    tell(2);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(state.reads).toBe(reads);
    state.status = 'completed';
    tell(2);
    expect(await held).toMatchObject({ nextSkip: null });
  });

  it('answers with the unchanged cursor when nothing happens for two seconds', async () => {
    const { service } = fixture(2, 'scraping');
    const startedMs = performance.now();
    expect(await service.page(CALLER, ID, ask(2), never)).toMatchObject({ nextSkip: 2, rows: [] });
    expect(performance.now() - startedMs).toBeGreaterThan(1900);
  });

  it('lets go of held requests when the gateway drains', async () => {
    const { service, watch } = fixture(2, 'scraping');
    const held = service.page(CALLER, ID, ask(2), never);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const startedMs = performance.now();
    watch.close();
    expect(await held).toMatchObject({ nextSkip: 2 });
    expect(performance.now() - startedMs).toBeLessThan(500);
  });

  it('answers 404 for unknown and foreign jobs alike, and says when a job has expired', async () => {
    const { service } = fixture(0, 'completed');
    const stranger = { ...CALLER, team: 'team-b' };
    await expect(service.find(stranger, ID)).rejects.toMatchObject({ status: 404, message: 'Job not found' });
    await expect(service.find(CALLER, 'aaaa')).rejects.toMatchObject({ status: 404, message: 'Job not found' });
    await expect(service.find(CALLER, 'dead')).rejects.toMatchObject({ status: 404, message: 'Job expired' });
    await expect(service.find(stranger, 'dead')).rejects.toMatchObject({ status: 404, message: 'Job not found' });
  });
});
