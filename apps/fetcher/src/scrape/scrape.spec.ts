import { beforeEach, describe, expect, it } from '@jest/globals';
import { TroupeError, type FetchRequest } from '@troupe/contracts';
import type { HostState } from '@troupe/contracts';
import { CACHED_SPEC, MemoryCache } from '../cache/memory-cache.fixture.js';
import { NeedsBrowserError, type FetchedPage, type PageRequest } from '../pages/page-fetcher.js';
import { TransportError } from '../slots/transport-error.js';
import type { SeenTrouble } from '../slots/host-reports.js';
import { ScrapeRunner, type ScrapeParts } from './scrape-runner.js';
import { SinglePages } from './single-pages.js';

const PAGE: FetchedPage = {
  statusCode: 200,
  finalUrl: 'http://site.test/a',
  engine: 'http',
  fetchMs: 4,
  document: Buffer.from('{}'),
  documentBytes: 2,
  title: null,
  outlinks: [],
  excluded: null,
  busy: null,
  credits: 1,
};
const signal = new AbortController().signal;

function requestOf(engine: 'auto' | 'browser' = 'auto'): FetchRequest {
  const spec: FetchRequest['spec'] = { ...CACHED_SPEC, engine, timeoutMs: 300 };
  return {
    id: 'id',
    team: 'team',
    url: 'http://site.test/a',
    sourceUrl: 'site.test/a',
    spec,
    deadlineMs: 300,
    metadata: { concurrencyLimited: true },
  };
}

describe('a single page', () => {
  let answers: (FetchedPage | Error)[];
  let asked: PageRequest[];
  let pauseMs: number;
  let open: number;
  let during: (request: PageRequest) => Promise<void>;
  let state: HostState;
  let troubles: SeenTrouble[];
  let probes: boolean[];
  let single: SinglePages;

  beforeEach(() => {
    answers = [PAGE];
    asked = [];
    pauseMs = 0;
    open = 0;
    during = () => Promise.resolve();
    troubles = [];
    probes = [];
    state = 'open';
    single = new SinglePages({
      pages: {
        fetch: async (request) => {
          asked.push(request);
          await during(request);
          const answer = answers.shift() ?? PAGE;
          if (answer instanceof Error) throw answer;
          return answer;
        },
      },
      express: {
        acquire: async () => {
          open++;
          return { release: () => void open-- };
        },
      },
      penalties: { pauseMs: () => pauseMs, stateOf: () => state },
      reports: {
        clean: () => undefined,
        trouble: (_host, trouble) => troubles.push(trouble),
        probed: async (_host, { clean }) => void probes.push(clean),
      },
      robots: { rulesFor: () => Promise.reject(new Error('robots were asked')) },
    });
  });

  function fetch(): Promise<FetchedPage> {
    const { url, spec } = requestOf();
    const rest = {
      metadata: {},
      encoding: 'json' as const,
      reportsShells: true,
      handsOver: false,
      cache: null,
      discover: () => null,
    };
    const whose = { team: requestOf().team, contextKey: null };
    return single.fetch({ url, spec, budgetMs: 300, signal, robotsAgent: null, ...whose, ...rest });
  }

  it('has a place on its host while it is fetched, and does not ask robots', async () => {
    expect(await fetch()).toBe(PAGE);
    expect(open).toBe(0);
  });

  it('holds its place while a request is in flight, not while the answer is converted', async () => {
    const held: number[] = [];
    during = async (request) => {
      held.push(open);
      request.onAnswer();
      held.push(open);
      await request.onClimb();
      held.push(open);
      request.onAnswer();
      await request.onHop('http://site.test/b');
      held.push(open);
    };
    await fetch();
    expect(held).toEqual([1, 0, 1, 1]);
    expect(open).toBe(0);
  });

  it('gives its place back when it fails', async () => {
    answers = [new TroupeError('SCRAPE_BLOCKED', 'wall')];
    await expect(fetch()).rejects.toMatchObject({ code: 'SCRAPE_BLOCKED' });
    expect(open).toBe(0);
  });

  it('is refused at once while its host rests, with when to come back', async () => {
    pauseMs = 40;
    state = 'paused';
    await expect(fetch()).rejects.toMatchObject({
      code: 'HOST_PAUSED',
      httpStatus: 503,
      retryAfterMs: 40,
      message: expect.stringContaining('site.test'),
    });
    expect(asked).toEqual([]);
  });

  it('asks once in a while whether a host that is down answers again', async () => {
    pauseMs = 60_000;
    state = 'down';
    answers = [new TransportError(new TroupeError('SCRAPE_SITE_ERROR', 'refused', { retryable: true }))];
    await expect(fetch()).rejects.toMatchObject({ code: 'SCRAPE_SITE_ERROR' });
    await expect(fetch()).rejects.toMatchObject({ code: 'HOST_PAUSED' });
    expect(asked).toHaveLength(1);
    expect(probes).toEqual([false]);
    expect(troubles).toEqual([]);
  });

  it('asks again after a 429 when that fits into its time', async () => {
    const busy = { ...PAGE, statusCode: 429, busy: { kind: 'rateLimited' as const, retryMs: 20 } };
    answers = [busy, PAGE];
    expect(await fetch()).toMatchObject({ statusCode: 200 });
    expect(troubles).toMatchObject([
      { kind: 'rateLimited', status: 429, retryMs: 20, url: PAGE.finalUrl, team: 'team' },
    ]);
    answers = [busy, busy, busy];
    expect(await fetch()).toMatchObject({ statusCode: 429 });
    expect(troubles).toHaveLength(2);
    answers = [{ ...busy, busy: { kind: 'rateLimited', retryMs: 60_000 } }, PAGE];
    expect(await fetch()).toMatchObject({ statusCode: 429 });
  });

  it('charges the host with a refused connection, not with the impatience of a caller', async () => {
    answers = [new TransportError(new TroupeError('SCRAPE_TIMEOUT', 'late', { retryable: true }))];
    await expect(fetch()).rejects.toMatchObject({ code: 'SCRAPE_TIMEOUT' });
    expect(troubles).toEqual([]);
    answers = [new TransportError(new TroupeError('SCRAPE_SITE_ERROR', 'refused', { retryable: true }))];
    await expect(fetch()).rejects.toMatchObject({ code: 'SCRAPE_SITE_ERROR' });
    expect(troubles).toMatchObject([{ kind: 'refused' }]);
  });
});

describe('a sync scrape', () => {
  function runnerOf(
    page: FetchedPage | Error,
    more: Partial<ScrapeParts> = {},
  ): { runner: ScrapeRunner; calls: unknown[] } {
    const calls: unknown[] = [];
    const single = { fetch: async () => (page instanceof Error ? Promise.reject(page) : page) };
    const rpc = {
      call: async (...call: unknown[]) => {
        calls.push(call);
        return { head: { ok: true, engine: 'browser' }, body: new Uint8Array(1) } as never;
      },
    };
    return {
      calls,
      runner: new ScrapeRunner({
        single,
        pages: { recall: () => Promise.resolve(null) },
        cache: new MemoryCache().cache,
        flights: { find: () => Promise.resolve(null) },
        instance: 'fetcher-a',
        finisher: { finish: (page) => Promise.resolve(page) },
        rpc,
        hasBrowser: false,
        others: { areThere: () => true },
        ...more,
      }),
    };
  }

  const shell = new NeedsBrowserError('http://site.test/a', () => Promise.resolve(PAGE));

  it('answers with the document and what became of the page', async () => {
    const { runner } = runnerOf(PAGE);
    const { head, body } = await runner.http(requestOf(), signal);
    expect(head).toMatchObject({ ok: true, statusCode: 200, finalUrl: PAGE.finalUrl, engine: 'http', credits: 1 });
    expect(body).toBe(PAGE.document);
  });

  it('answers a failure with its code', async () => {
    const { runner } = runnerOf(new TroupeError('SCRAPE_SSL_ERROR', 'bad certificate'));
    expect(await runner.http(requestOf(), signal)).toMatchObject({
      head: { ok: false, error: { code: 'SCRAPE_SSL_ERROR' } },
    });
  });

  it('goes to a fetcher with a browser when scripts make the page, with the time that is left', async () => {
    const { runner, calls } = runnerOf(shell);
    expect(await runner.http(requestOf(), signal)).toMatchObject({ head: { ok: true, engine: 'browser' } });
    expect(calls).toMatchObject([
      ['rpc.fetch.browser', { id: 'id', deadlineMs: expect.any(Number) }, null, { signal }],
    ]);
  });

  it('keeps what it has, with a warning, where the cluster has no browser', async () => {
    const { runner, calls } = runnerOf(shell, { others: { areThere: () => false } });
    expect(await runner.http(requestOf(), signal)).toMatchObject({
      head: { ok: true, warning: expect.stringContaining('browser') },
    });
    expect(calls).toEqual([]);
  });

  it.each(['auto', 'browser'] as const)('keeps what it can when the last browser goes away (%s)', async (engine) => {
    let isAlive = true;
    const waits: boolean[] = [];
    const call = async (...[, , , { isServed }]: Parameters<ScrapeParts['rpc']['call']>) => {
      waits.push(isServed!());
      isAlive = false;
      waits.push(isServed!());
      throw new TroupeError('CONCURRENCY_QUEUE_TIMEOUT', 'no fetcher is left');
    };
    const { runner } = runnerOf(engine === 'auto' ? shell : PAGE, {
      rpc: { call },
      others: { areThere: () => isAlive },
    });
    expect(await runner.http(requestOf(engine), signal)).toMatchObject({ head: { ok: true } });
    expect(waits).toEqual([true, false]);
  });

  it('ends in its code when a browser is there and has no place for it', async () => {
    const call = () => Promise.reject(new TroupeError('CONCURRENCY_QUEUE_TIMEOUT', 'all are busy'));
    const { runner } = runnerOf(shell, { rpc: { call } });
    expect(await runner.http(requestOf(), signal)).toMatchObject({
      head: { ok: false, error: { code: 'CONCURRENCY_QUEUE_TIMEOUT' } },
    });
  });

  it('that asks for a browser is forwarded at once', async () => {
    const { runner, calls } = runnerOf(PAGE);
    await runner.http(requestOf('browser'), signal);
    expect(calls).toHaveLength(1);
  });
});
