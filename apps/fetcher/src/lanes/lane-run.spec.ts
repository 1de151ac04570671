import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  NO_TRACES,
  plainScrape,
  TroupeError,
  type ActorMessage,
  type Envelope,
  type Lane,
  type LaneEnd,
  type PageResult,
  type PauseNews,
  type ScopeSpec,
  type SpanAttributes,
  type Tracer,
} from '@troupe/contracts';
import type { SlotHold, SlotRenewal, SlotVerdict } from '@troupe/messaging';
import { parseRobots, RobotsFile } from '@troupe/politeness';
import { NeedsBrowserError, type FetchedPage, type PageRequest } from '../pages/page-fetcher.js';
import type { PageFinisher } from '../pages/page-finisher.js';
import { BusyAnswerError, TransportError } from '../slots/transport-error.js';
import { RobotsUnreadableError } from '../robots/robots-rules.js';
import type { SeenTrouble } from '../slots/host-reports.js';
import { CACHED_SPEC, MemoryCache } from '../cache/memory-cache.fixture.js';
import { SlotClock } from '../slots/slot-clock.js';
import { LaneConsumer } from './lane.consumer.js';
import { LaneRun, type LaneParts } from './lane-run.js';

const HOST = 'site.test';
const SCOPE: ScopeSpec = {
  base: `http://${HOST}/docs/`,
  version: 4,
  includePaths: [],
  excludePaths: [],
  regexOnFullUrl: false,
  maxDepth: null,
  maxPathDepth: null,
  entireDomain: false,
  allowExternalLinks: true,
  allowSubdomains: false,
  ignoreQueryParameters: false,
  deduplicateSimilarUrls: true,
  sitemap: 'include',
};

function laneOf(urls: string[], more: Partial<Lane> = {}): Lane {
  return {
    type: 'Lane',
    lane: 7,
    actor: 'crawl/job',
    job: 'job',
    jobNo: '5',
    team: 'team',
    host: HOST,
    slot: { i: 1, gen: 2 },
    notBeforeMs: 0,
    gapMs: 0,
    items: urls.map((url, index) => ({ item: index + 1, attempt: 1, url, depth: 1, sourceUrl: url })),
    scope: SCOPE,
    robotsAgent: 'Troupe',
    spec: plainScrape({ formats: [], timeoutMs: 1000 }),
    ...more,
  };
}

function pageOf(url: string, more: Partial<FetchedPage> = {}): FetchedPage {
  const document = new Uint8Array(10);
  return {
    statusCode: 200,
    finalUrl: url,
    engine: 'http',
    fetchMs: 5,
    document,
    documentBytes: 20,
    title: null,
    outlinks: [],
    excluded: null,
    busy: null,
    credits: 1,
    ...more,
  };
}

const url = (name: string) => `http://${HOST}/docs/${name}`;

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(5);
}

/** Everything around a lane, answering as told. */
class Surroundings {
  openItems = (): Set<number> => new Set();
  verdict: SlotVerdict = { held: {} as SlotHold, previousFetcher: null, isRerun: false };
  fetch: (request: PageRequest) => Promise<FetchedPage> = async (request) => pageOf(request.url);
  finish: PageFinisher['finish'] = async (page) => page;
  rules: RobotsFile = RobotsFile.allowAll;
  readRules = (): RobotsFile => this.rules;
  pauses = new Map<string, number>();
  isCancelled = false;
  handsOver = false;
  pauseNews: PauseNews = { v: 0, paused: false };
  publishFailures = 0;
  storeFailures = 0;
  renewal: SlotRenewal = 'kept';
  isSurelySeen = true;
  renewals = 0;
  readonly sent: Envelope[] = [];
  readonly fetched: { url: string; at: number }[] = [];
  /** Pause after a trouble, as the reports judge it. */
  restMs = 0;
  readonly told: [string, number | null][] = [];
  isHeard = true;
  hostGapMs = 0;
  readonly troubles: { host: string; trouble: SeenTrouble }[] = [];
  readonly cleanHosts: string[] = [];
  readonly places: string[] = [];
  readonly blobs: Uint8Array[] = [];
  readonly recalled: Record<string, unknown>[] = [];
  readonly memory = new MemoryCache();
  openPlaces = 0;
  released = 0;
  cancel: (job: string) => void = () => undefined;

  readonly parts: LaneParts = {
    instance: 'me',
    mailboxes: {
      publishActor: async (envelope) => {
        if (this.publishFailures-- > 0) throw new Error('no answer');
        this.sent.push(envelope);
      },
    },
    slots: {
      claim: async () => this.verdict,
      renew: async () => {
        this.renewals++;
        return this.renewal;
      },
      release: async () => void this.released++,
    },
    standing: { isSurelySeen: () => this.isSurelySeen },
    penalties: {
      stateOf: () => 'paused',
      pauseMs: (host) => this.pauses.get(host) ?? 0,
      gapMs: () => this.hostGapMs,
      expressPlaces: () => 4,
      crawlDelayMs: (_host, rules, agent) => rules.crawlDelayMs(agent) ?? 0,
    },
    delays: {
      tell: async (host, delayMs) => {
        this.told.push([host, delayMs]);
        return this.isHeard;
      },
    },
    cancels: {
      isCancelled: () => this.isCancelled,
      onCancel: (listener) => {
        this.cancel = listener;
        return () => true;
      },
    },
    pauses: { newsSince: (_job, knownV) => (this.pauseNews.v > knownV ? this.pauseNews : null) },
    robots: { rulesFor: async () => this.readRules() },
    express: {
      acquire: async (host) => {
        this.places.push(host);
        this.openPlaces++;
        return { release: () => void this.openPlaces-- };
      },
    },
    reports: {
      clean: (host) => void this.cleanHosts.push(host),
      trouble: (host, trouble) => {
        this.troubles.push({ host, trouble });
        return this.restMs;
      },
    },
    clock: new SlotClock(),
    pages: {
      fetch: (request) => {
        this.fetched.push({ url: request.url, at: performance.now() });
        return this.fetch(request);
      },
      recall: async ({ response, metadata }, request) => {
        this.recalled.push({ ...request.metadata, ...metadata });
        return pageOf(response.finalUrl);
      },
    },
    cache: this.memory.cache,
    finisher: { finish: (page, scrape, limits) => this.finish(page, scrape, limits) },
    erasable: { of: (job) => ({ put: async () => `zdr/${job}/blob` }) },
    openItems: { of: async () => this.openItems() },
    blobs: {
      put: async (bytes) => {
        if (this.storeFailures-- > 0) throw new Error('disk full');
        this.blobs.push(bytes);
        return `blob-${this.blobs.length}`;
      },
    },
    config: { resultTtlHours: 24 },
    handsOver: () => this.handsOver,
    log: { warn: () => undefined },
  };

  async run(lane: Lane): Promise<LaneEnd> {
    await new LaneRun(lane, this.parts).execute();
    return this.end();
  }

  end(): LaneEnd {
    const end = this.sent.map(({ body }) => body).find((body): body is LaneEnd => body.type === 'LaneEnd');
    if (end === undefined) throw new Error('no LaneEnd was sent');
    return end;
  }

  results(): PageResult[] {
    return this.sent.flatMap(({ body }: { body: ActorMessage }) =>
      body.type === 'PagesDone' || body.type === 'LaneEnd' ? body.pages : [],
    );
  }

  types(): string[] {
    return this.sent.map(({ type }) => type);
  }
}

describe('a lane', () => {
  let around: Surroundings;
  beforeEach(() => {
    around = new Surroundings();
  });

  it('runs its pages in order and tells the job the last ones with its end', async () => {
    const end = await around.run(laneOf([url('a'), url('b')]));
    expect(end).toMatchObject({ reason: 'done', unrun: [] });
    expect(around.types()).toEqual(['LaneStarted', 'LaneEnd']);
    expect(around.results().map(({ item, outcome }) => [item, outcome])).toEqual([
      [1, 'ok'],
      [2, 'ok'],
    ]);
    expect(around.released).toBe(1);
  });

  describe('that lasts long', () => {
    beforeEach(() => {
      jest.useFakeTimers({ doNotFake: ['performance', 'setImmediate', 'nextTick', 'queueMicrotask'] });
    });
    afterEach(() => {
      jest.useRealTimers();
    });

    it('ends its request and gives everything back when its slot is lost', async () => {
      around.fetch = ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
      const ended = around.run(laneOf([url('a'), url('b')]));
      await jest.advanceTimersByTimeAsync(20_000);
      expect(around.types()).toEqual(['LaneStarted']);
      around.renewal = 'lost';
      await jest.advanceTimersByTimeAsync(5_000);
      expect(await ended).toMatchObject({ reason: 'refused', unrun: [1, 2], pages: [] });
    });
  });

  describe('whose pages a model writes for', () => {
    const lane = (names: string[]) => {
      const spec = laneOf([]).spec;
      return laneOf(names.map(url), { spec: { ...spec, formats: [{ type: 'summary' }] } });
    };
    let answers: (() => void)[];
    beforeEach(() => {
      answers = [];
      around.finish = (page, _scrape, { signal }) =>
        new Promise((resolve, reject) => {
          answers.push(() => resolve({ ...page, credits: 7 }));
          signal.addEventListener('abort', () => reject(new Error('aborted')));
        });
    });

    it('fetches the next ones meanwhile, a few, and ends when all are written', async () => {
      const ended = around.run(lane(['a', 'b', 'c', 'd', 'e', 'f']));
      await until(() => around.fetched.length === 4);
      await sleep(20);
      expect(around.fetched).toHaveLength(4);
      expect(around.cleanHosts).toHaveLength(4);
      answers[1]!();
      await until(() => answers.length === 5);
      expect(around.fetched).toHaveLength(5);
      for (const answer of answers) answer();
      await until(() => answers.length === 6);
      expect(around.types()).not.toContain('LaneEnd');
      for (const answer of answers) answer();
      expect(await ended).toMatchObject({ reason: 'done', unrun: [] });
      expect(around.results().map(({ item, credits }) => [item, credits])).toEqual(
        expect.arrayContaining([1, 2, 3, 4, 5, 6].map((item) => [item, 7])),
      );
      expect(around.results()).toHaveLength(6);
    });

    it('gives the conversion what the model reads', async () => {
      let formats: unknown;
      around.fetch = async (request) => {
        formats = request.spec.formats;
        return pageOf(request.url);
      };
      around.finish = async (page) => page;
      await around.run(lane(['a']));
      expect(formats).toEqual([{ type: 'summary' }, { type: 'markdown' }]);
    });

    it('gives unwritten pages back when its job is cancelled', async () => {
      const consumer = new LaneConsumer(around.parts, { fetcherConcurrency: 1 });
      const ended = consumer.handle(lane(['a', 'b']));
      await until(() => answers.length === 2);
      answers[0]!();
      await sleep(5);
      around.isCancelled = true;
      around.cancel('job');
      await ended;
      expect(around.end()).toMatchObject({ reason: 'cancel', unrun: [2] });
      expect(around.results().map(({ item }) => item)).toEqual([1]);
    });

    it('fails a page for which the model had nothing, and blames no host', async () => {
      around.finish = async () => {
        throw new TroupeError('SCRAPE_JSON_FAILED', 'no answer', { retryable: true });
      };
      await around.run(lane(['a']));
      expect(around.results()).toMatchObject([
        { outcome: 'failed', rule: 'SCRAPE_JSON_FAILED', message: 'no answer', retryable: true, credits: 0 },
      ]);
      expect(around.troubles).toEqual([]);
    });
  });

  it('tells the last step of a page which pages its job has from a history', async () => {
    const told: unknown[] = [];
    around.finish = async (page, { url: address, fromHistory }) => {
      told.push([address, fromHistory]);
      return page;
    };
    const lane = laneOf(['a', 'b'].map(url));
    lane.items[1]!.fromHistory = true;
    await around.run(lane);
    expect(told).toEqual([
      [url('a'), undefined],
      [url('b'), true],
    ]);
  });

  describe('on a fetcher without a browser', () => {
    const needsBrowser = (address: string) => new NeedsBrowserError(address, () => Promise.reject(new Error('kept')));

    it('hands the pages that need one back with its end, unfinished and unblamed, and goes on', async () => {
      around.handsOver = true;
      around.fetch = async (request) => {
        expect(request.handsOver).toBe(true);
        if (request.url.endsWith('/app')) throw needsBrowser(request.url);
        return pageOf(request.url);
      };
      const end = await around.run(laneOf([url('a'), url('app'), url('b')]));
      expect(end).toMatchObject({ reason: 'done', unrun: [], browser: [2] });
      expect(around.results().map(({ item }) => item)).toEqual([1, 3]);
      expect(around.troubles).toEqual([]);
    });

    it('asks no site for what is known to need one, or was asked of one', async () => {
      around.handsOver = true;
      const known = laneOf([url('a')]);
      known.items[0]!.browser = true;
      expect(await around.run(known)).toMatchObject({ browser: [1], pages: [] });
      around.sent.length = 0;
      const { spec } = laneOf([]);
      const asked = laneOf([url('a'), url('b')], { spec: { ...spec, engine: 'browser' } });
      expect(await around.run(asked)).toMatchObject({ browser: [1, 2], pages: [] });
      expect(around.fetched).toEqual([]);
    });

    it('does what it can when no other fetcher has one either', async () => {
      const engines: unknown[] = [];
      around.fetch = async (request) => {
        engines.push([request.spec.engine, request.handsOver]);
        return pageOf(request.url);
      };
      const lane = laneOf([url('a'), url('b')]);
      lane.items[0]!.browser = true;
      expect(await around.run(lane)).not.toHaveProperty('browser');
      expect(engines).toEqual([
        ['browserIfAny', false],
        ['auto', false],
      ]);
      expect(around.results()).toHaveLength(2);
    });
  });

  it('names its messages by job, lane, run and number', async () => {
    const end = await around.run(laneOf([url('a')]));
    expect(around.sent.map(({ id }) => id)).toEqual([`r.job.7.${end.run}.0`, `r.job.7.${end.run}.1`]);
    expect(around.sent[0]).toMatchObject({ from: 'w/me', to: 'crawl/job', v: 1 });
  });

  it('gives everything back as refused when its right to the slot is used up', async () => {
    around.verdict = 'stale';
    expect(await around.run(laneOf([url('a')]))).toMatchObject({ reason: 'refused', unrun: [1], pages: [] });
    expect(around.fetched).toEqual([]);
    expect(around.released).toBe(0);
  });

  it('says and fetches nothing when another fetcher runs the lane', async () => {
    around.verdict = 'duplicate';
    const again = await new LaneRun(laneOf([url('a')]), around.parts).execute();
    expect(again).toEqual({ retryMs: 500 });
    expect(around.sent).toEqual([]);
    expect(around.fetched).toEqual([]);
    expect(around.released).toBe(0);
  });

  it('proves its slot before a page when others may take its process for dead', async () => {
    around.fetch = async (request) => {
      around.isSurelySeen = around.fetched.length !== 1;
      return pageOf(request.url);
    };
    expect(await around.run(laneOf([url('a'), url('b'), url('c')]))).toMatchObject({ reason: 'done', unrun: [] });
    expect([around.fetched.length, around.renewals]).toEqual([3, 1]);
  });

  it('fetches nothing more, and leaves the end to its successor, when it has been followed on its slot meanwhile', async () => {
    around.fetch = async (request) => {
      around.isSurelySeen = false;
      around.renewal = 'moved';
      return pageOf(request.url);
    };
    const again = await new LaneRun(laneOf([url('a'), url('b')]), around.parts).execute();
    expect(again).toEqual({ retryMs: 500 });
    expect(around.types()).toEqual(['LaneStarted', 'PagesDone']);
    expect(around.results().map(({ item }) => item)).toEqual([1]);
    expect(around.fetched).toHaveLength(1);
  });

  it('proves its slot before a redirect of a page, too', async () => {
    around.fetch = async (request) => {
      around.isSurelySeen = false;
      around.renewal = 'lost';
      await request.onHop(url('b'));
      return pageOf(url('b'));
    };
    expect(await around.run(laneOf([url('a')]))).toMatchObject({ reason: 'refused', unrun: [1], pages: [] });
  });

  it('gives everything back without touching the slot when its job is cancelled before it starts', async () => {
    around.isCancelled = true;
    expect(await around.run(laneOf([url('a')]))).toMatchObject({ reason: 'cancel', unrun: [1] });
    expect(around.fetched).toEqual([]);
  });

  it('stops within its page when its job is cancelled', async () => {
    around.fetch = ({ signal }) => sleep(5000, undefined, { signal }).then(() => pageOf(''));
    const consumer = new LaneConsumer(around.parts, { fetcherConcurrency: 10 });
    const running = consumer.handle(laneOf([url('a'), url('b')]));
    await sleep(20);
    around.isCancelled = true;
    around.cancel('another job');
    around.cancel('job');
    await running;
    expect(around.end()).toMatchObject({ reason: 'cancel', unrun: [1, 2], pages: [] });
  });

  it('finishes its page and gives the rest back when the process drains', async () => {
    around.fetch = async ({ url: asked }) => sleep(50).then(() => pageOf(asked));
    const consumer = new LaneConsumer(around.parts, { fetcherConcurrency: 10 });
    const running = consumer.handle(laneOf([url('a'), url('b')]));
    await until(() => around.fetched.length === 1);
    await consumer.drain();
    await running;
    expect(around.end()).toMatchObject({ reason: 'drain', unrun: [2] });
    expect(around.results()).toHaveLength(1);
  });

  it('finishes its page and gives the rest back when its job is paused, with what it knows of the pause', async () => {
    const news = { v: 3, paused: true };
    around.fetch = async (request) => {
      around.pauseNews = news;
      return pageOf(request.url);
    };
    const end = await around.run(laneOf([url('a'), url('b'), url('c')], { pauseV: 2 }));
    expect(end).toMatchObject({ reason: 'pause', unrun: [2, 3], pause: news, pages: [{ item: 1 }] });
    expect(around.fetched).toHaveLength(1);
    expect(around.released).toBe(1);
  });

  it('sent before a pause runs no page after it, though the job goes on, and one sent after it runs', async () => {
    around.pauseNews = { v: 2, paused: false };
    const end = await around.run(laneOf([url('a'), url('b')]));
    expect(end).toMatchObject({ reason: 'pause', unrun: [1, 2], pause: around.pauseNews });
    expect(around.fetched).toEqual([]);
    await new LaneRun(laneOf([url('a'), url('b')], { pauseV: 2 }), around.parts).execute();
    expect(around.fetched).toHaveLength(2);
  });

  it('is sent elsewhere when this process has no place for it', async () => {
    around.fetch = ({ signal }) => sleep(100, undefined, { signal }).then(() => pageOf(url('a')));
    const consumer = new LaneConsumer(around.parts, { fetcherConcurrency: 1 });
    const first = consumer.handle(laneOf([url('a')]));
    expect(await consumer.handle(laneOf([url('b')]))).toEqual({ retryMs: expect.any(Number) });
    await first;
  });

  it('waits one gap when another fetcher ran the slot before', async () => {
    around.verdict = { held: {} as SlotHold, previousFetcher: 'other', isRerun: false };
    const startedAt = performance.now();
    await around.run(laneOf([url('a')], { gapMs: 80 }));
    expect(around.fetched[0]!.at - startedAt).toBeGreaterThanOrEqual(75);
  });

  it('asks for nothing again that its job has settled, when another fetcher died on it', async () => {
    around.verdict = { held: {} as SlotHold, previousFetcher: 'other', isRerun: true };
    around.openItems = () => new Set([2]);
    const end = await around.run(laneOf([url('a'), url('b')]));
    expect(around.fetched.map(({ url: asked }) => asked)).toEqual([url('b')]);
    expect(end).toMatchObject({ reason: 'done', unrun: [] });
  });

  it('runs whole when it is unknown what is settled', async () => {
    around.verdict = { held: {} as SlotHold, previousFetcher: 'other', isRerun: true };
    around.openItems = () => {
      throw new Error('away');
    };
    await around.run(laneOf([url('a'), url('b')]));
    expect(around.fetched).toHaveLength(2);
  });

  it('does not wait when it ran the slot before itself long ago', async () => {
    around.verdict = { held: {} as SlotHold, previousFetcher: 'me', isRerun: false };
    const startedAt = performance.now();
    await around.run(laneOf([url('a')], { gapMs: 500 }));
    expect(around.fetched[0]!.at - startedAt).toBeLessThan(250);
  });

  it('keeps the gap from start to start, also across its lanes on one slot', async () => {
    await around.run(laneOf([url('a'), url('b')], { gapMs: 60 }));
    await around.run(laneOf([url('c')], { gapMs: 60, lane: 8 }));
    const [a, b, c] = around.fetched.map(({ at }) => at);
    expect(b! - a!).toBeGreaterThanOrEqual(55);
    expect(c! - b!).toBeGreaterThanOrEqual(55);
  });

  it('waits as long as it is told before its first page', async () => {
    const startedAt = performance.now();
    await around.run(laneOf([url('a')], { notBeforeMs: 60 }));
    expect(around.fetched[0]!.at - startedAt).toBeGreaterThanOrEqual(55);
  });

  it('asks nothing of a host under penalty', async () => {
    around.pauses.set(HOST, 900);
    expect(await around.run(laneOf([url('a')]))).toMatchObject({ reason: 'penalty', unrun: [1], retryMs: 900 });
    expect(around.fetched).toEqual([]);
  });

  it('gives a page back whose host comes under penalty between its redirects', async () => {
    around.fetch = async ({ onHop }) => {
      around.pauses.set(HOST, 900);
      await onHop(url('b'));
      return pageOf(url('b'));
    };
    expect(await around.run(laneOf([url('a'), url('c')]))).toMatchObject({
      reason: 'penalty',
      unrun: [1, 2],
      pages: [],
    });
  });

  it('reports a forbidden page as robots and goes on', async () => {
    around.rules = parseRobots('User-agent: *\nDisallow: /docs/secret');
    await around.run(laneOf([url('secret'), url('a')]));
    expect(around.results().map(({ outcome }) => outcome)).toEqual(['robots', 'ok']);
    expect(around.fetched.map((page) => page.url)).toEqual([url('a')]);
  });

  it('does not consult robots when it is told not to', async () => {
    around.rules = RobotsFile.disallowAll;
    await around.run(laneOf([url('a')], { robotsAgent: null }));
    expect(around.results()).toMatchObject([{ outcome: 'ok' }]);
  });

  it('checks robots of a redirect target before it is asked', async () => {
    around.rules = parseRobots('User-agent: *\nDisallow: /docs/secret');
    around.fetch = async ({ onHop }) => onHop(url('secret')).then(() => pageOf(url('secret')));
    await around.run(laneOf([url('a')]));
    expect(around.results()).toMatchObject([{ outcome: 'robots', rule: url('secret') }]);
  });

  it('drops a page that is redirected out of scope, naming the target', async () => {
    around.fetch = async ({ onHop }) => onHop(`http://${HOST}/blog`).then(() => pageOf(`http://${HOST}/blog`));
    await around.run(laneOf([url('a')]));
    expect(around.results()).toMatchObject([{ outcome: 'redirected', rule: `http://${HOST}/blog`, retryable: false }]);
  });

  it('follows the start page out of scope and judges its links by where it led', async () => {
    const target = 'http://new.test/guide/';
    const bases: (string | undefined)[] = [];
    around.fetch = async ({ onHop, discover }) => {
      await onHop(target);
      bases.push(discover(target)?.scope.base);
      return pageOf(target);
    };
    const lane = laneOf([SCOPE.base]);
    await around.run({ ...lane, items: lane.items.map((item) => ({ ...item, depth: 0 })) });
    expect(around.results()).toMatchObject([{ outcome: 'ok', finalUrl: target, scopeVersion: 4 }]);
    expect(bases).toEqual([target]);
  });

  it('takes a place on another host for the time of a redirect into it', async () => {
    let during = 0;
    around.fetch = async ({ onHop }) => {
      await onHop('http://other.test/x');
      during = around.openPlaces;
      return pageOf('http://other.test/x');
    };
    await around.run(laneOf([url('a')]));
    expect(around.places).toEqual(['other.test']);
    expect(during).toBe(1);
    expect(around.openPlaces).toBe(0);
    expect(around.cleanHosts).toEqual(['other.test']);
  });

  it('puts a page off that is redirected to a host under penalty', async () => {
    around.pauses.set('other.test', 700);
    around.fetch = async ({ onHop }) => onHop('http://other.test/x').then(() => pageOf(''));
    const end = await around.run(laneOf([url('a')]));
    expect(end.reason).toBe('done');
    expect(around.results()).toMatchObject([{ outcome: 'failed', retryable: true, retryAfterMs: 700 }]);
  });

  it('names the fingerprint of a final URL that is another page', async () => {
    around.fetch = async () => pageOf(url('other'));
    await around.run(laneOf([url('a')]));
    around.fetch = async () => pageOf(`${url('a')}/`);
    await around.run(laneOf([url('a')], { lane: 8 }));
    const [first, second] = around.results();
    expect(first!.finalH).toMatch(/^[0-9a-f]{16}$/);
    expect(second).toMatchObject({ finalUrl: `${url('a')}/`, finalH: null });
  });

  it.each([
    [429, 'rateLimited'],
    [503, 'unavailable'],
  ] as const)('asks for a repeat of a page that answers %i, and goes on', async (statusCode, kind) => {
    around.fetch = async (request) => {
      expect(request.keepsBusyAnswers).toBe(false);
      if (request.url === url('a')) throw new BusyAnswerError(url('a'), statusCode, 4000);
      return pageOf(request.url);
    };
    const end = await around.run(laneOf([url('a'), url('b')]));
    expect(end).toMatchObject({ reason: 'done', unrun: [] });
    expect(around.results()).toMatchObject([
      { outcome: 'failed', statusCode, retryable: true, retryAfterMs: 4000, rule: 'SCRAPE_SITE_ERROR' },
      { outcome: 'ok' },
    ]);
    expect(around.troubles).toEqual([
      {
        host: HOST,
        trouble: { kind, status: statusCode, retryMs: 4000, url: url('a'), team: 'team', isSecret: false },
      },
    ]);
    expect(around.cleanHosts).toEqual([HOST]);
  });

  it.each([
    ['SCRAPE_SITE_ERROR', 'refused'],
    ['SCRAPE_TIMEOUT', 'timeout'],
  ] as const)('blames its host for %s, and leaves the time of the repeat to the job', async (code, kind) => {
    around.fetch = async () =>
      Promise.reject(new TransportError(new TroupeError(code, 'no answer', { retryable: true })));
    expect(await around.run(laneOf([url('a')]))).toMatchObject({ reason: 'done' });
    expect(around.results()).toMatchObject([{ outcome: 'failed', rule: code, retryable: true, retryAfterMs: null }]);
    expect(around.troubles).toMatchObject([{ trouble: { kind, status: 0 } }]);
  });

  it('ends when its host is to be left alone, after the page that showed it, and says for how long', async () => {
    around.fetch = async (request) => {
      around.restMs = request.url === url('b') ? 1500 : 0;
      throw new BusyAnswerError(request.url, 503, null);
    };
    const end = await around.run(laneOf([url('a'), url('b'), url('c')]));
    expect(end).toMatchObject({ reason: 'penalty', unrun: [3], retryMs: 1500 });
    expect(around.results().map(({ item }) => item)).toEqual([1, 2]);
  });

  it('goes on when it is another host that is to be left alone', async () => {
    around.restMs = 1500;
    around.fetch = async (request) => {
      if (request.url !== url('a')) return pageOf(request.url);
      await request.onHop('http://other.test/x');
      throw new BusyAnswerError('http://other.test/x', 429, null);
    };
    expect(await around.run(laneOf([url('a'), url('b')]))).toMatchObject({ reason: 'done' });
    expect(around.troubles).toMatchObject([{ host: 'other.test', trouble: { url: 'http://other.test/x' } }]);
  });

  it('keeps the addresses of pages to itself of which nothing may be kept', async () => {
    around.fetch = async () => Promise.reject(new BusyAnswerError(url('a'), 429, null));
    const { spec } = laneOf([]);
    await around.run(laneOf([url('a')], { spec: { ...spec, zeroRetention: true } }));
    expect(around.troubles).toMatchObject([{ trouble: { isSecret: true } }]);
  });

  it('keeps the gap that the answers of its host have led to', async () => {
    around.hostGapMs = 80;
    await around.run(laneOf([url('a'), url('b')]));
    const [a, b] = around.fetched.map(({ at }) => at);
    expect(b! - a!).toBeGreaterThanOrEqual(75);
  });

  it.each(['SCRAPE_BLOCKED', 'SCRAPE_EMPTY', 'SCRAPE_TARGET_FORBIDDEN', 'SCRAPE_DNS_RESOLUTION_ERROR'] as const)(
    'fails a page with %s and goes on',
    async (code) => {
      around.fetch = async (request) => {
        if (request.url === url('a')) throw new TroupeError(code, 'why');
        return pageOf(request.url);
      };
      expect(await around.run(laneOf([url('a'), url('b')]))).toMatchObject({ reason: 'done' });
      expect(around.results()).toMatchObject([
        { outcome: 'failed', rule: code, message: 'why', retryable: false },
        { outcome: 'ok' },
      ]);
      expect(around.troubles).toEqual([]);
    },
  );

  it('survives an unforeseen error', async () => {
    around.fetch = async () => Promise.reject(new TypeError('oops'));
    await around.run(laneOf([url('a')]));
    expect(around.results()).toMatchObject([{ outcome: 'failed', rule: 'UNKNOWN_ERROR', message: 'oops' }]);
  });

  it('keeps small documents in the message and large ones in the blob store', async () => {
    around.fetch = async (request) =>
      pageOf(request.url, { document: new Uint8Array(request.url === url('a') ? 8192 : 8193) });
    await around.run(laneOf([url('a'), url('b')]));
    const [small, large] = around.results();
    expect(small).toMatchObject({ blob: null });
    expect(Buffer.from(small!.inline!, 'base64')).toHaveLength(8192);
    expect(large).toMatchObject({ inline: null, blob: 'blob-1' });
  });

  it('stores again what could not be stored, and then tells the job', async () => {
    around.fetch = async (request) => pageOf(request.url, { document: new Uint8Array(9000) });
    around.storeFailures = 1;
    around.publishFailures = 2;
    await around.run(laneOf([url('a')]));
    expect(around.results()).toMatchObject([{ outcome: 'ok', blob: 'blob-1' }]);
    expect(around.blobs).toHaveLength(1);
  });

  it('sends results after 8 pages, without waiting for its end', async () => {
    await around.run(laneOf(Array.from({ length: 9 }, (_, n) => url(`p${n}`))));
    expect(around.types()).toEqual(['LaneStarted', 'PagesDone', 'LaneEnd']);
    expect(around.sent.map(({ body }) => ('pages' in body ? body.pages.length : 0))).toEqual([0, 8, 1]);
  });

  it('sends a lone result after 100 ms', async () => {
    around.fetch = async (request) =>
      (request.url === url('b') ? sleep(250) : Promise.resolve()).then(() => pageOf(request.url));
    await around.run(laneOf([url('a'), url('b')]));
    expect(around.types()).toEqual(['LaneStarted', 'PagesDone', 'LaneEnd']);
  });

  it('repeats a message under the same id until it is taken', async () => {
    around.publishFailures = 2;
    await around.run(laneOf([url('a')]));
    expect(around.types()).toEqual(['LaneStarted', 'LaneEnd']);
    expect(around.results()).toHaveLength(1);
  });
});

describe('a crawl-delay that the job of a lane does not know of', () => {
  let around: Surroundings;
  beforeEach(() => {
    around = new Surroundings();
    around.rules = parseRobots('User-agent: *\nCrawl-delay: 0.2');
  });

  it('ends the lane before its first page, and is told to the actor of the host', async () => {
    const end = await around.run(laneOf([url('a'), url('b')], { slot: { i: 0, gen: 2 } }));
    expect(end).toMatchObject({ reason: 'penalty', unrun: [1, 2], retryMs: 1000 });
    expect(around.told).toEqual([[HOST, 200]]);
    expect(around.fetched).toEqual([]);
  });

  it('is kept all the same when the actor does not listen', async () => {
    around.isHeard = false;
    await around.run(laneOf([url('a'), url('b')], { slot: { i: 0, gen: 2 } }));
    const [a, b] = around.fetched.map(({ at }) => at);
    expect(b! - a!).toBeGreaterThanOrEqual(195);
  });

  it('counts from the first page after another fetcher, too', async () => {
    around.isHeard = false;
    around.verdict = { held: {} as SlotHold, previousFetcher: 'other', isRerun: false };
    const startedAt = performance.now();
    await around.run(laneOf([url('a')], { slot: { i: 0, gen: 2 } }));
    expect(around.fetched[0]!.at - startedAt).toBeGreaterThanOrEqual(195);
  });

  it('leaves nothing to do for all but one connection', async () => {
    around.isHeard = false;
    const end = await around.run(laneOf([url('a')], { gapMs: 200 }));
    expect(end).toMatchObject({ reason: 'penalty', unrun: [1] });
    expect(around.told).toEqual([[HOST, 200]]);
    expect(await around.run(laneOf([url('a')], { lane: 8, gapMs: 200, robotsAgent: null }))).toBeDefined();
    expect(around.fetched).toHaveLength(1);
  });
});

describe('a lane whose robots.txt cannot be read', () => {
  const unreadable = (host: string) => {
    throw new RobotsUnreadableError(host, 4200, new TroupeError('SCRAPE_SITE_ERROR', 'refused', { retryable: true }));
  };

  it('asks for nothing, and says when it may be readable', async () => {
    const around = new Surroundings();
    around.readRules = () => unreadable(HOST);
    const end = await around.run(laneOf([url('a'), url('b')]));
    expect(end).toMatchObject({ reason: 'penalty', unrun: [2], retryMs: 4200, robotsUnreadable: true });
    expect(around.results()).toMatchObject([
      {
        outcome: 'failed',
        rule: 'robots-unreadable',
        retryable: true,
        retryAfterMs: 4200,
        message: expect.stringContaining('refused'),
      },
    ]);
    expect(around.fetched).toEqual([]);
    expect(around.troubles).toEqual([]);
  });

  it('goes on when it is that of a host to which a page leads', async () => {
    const around = new Surroundings();
    around.fetch = async (request) => {
      if (request.url !== url('a')) return pageOf(request.url);
      around.readRules = () => unreadable('other.test');
      return request.onHop('http://other.test/x').then(
        () => pageOf(''),
        (error: unknown) => {
          around.readRules = () => around.rules;
          throw error;
        },
      );
    };
    expect(await around.run(laneOf([url('a'), url('b')]))).toMatchObject({ reason: 'done' });
    expect(around.results()).toMatchObject([{ rule: 'robots-unreadable' }, { outcome: 'ok' }]);
  });
});

describe('a lane of pages that are in the cache', () => {
  let around: Surroundings;
  const cachedLane = (names: string[], more: Partial<Lane> = {}) =>
    laneOf(names.map(url), { spec: { ...CACHED_SPEC }, ...more });
  const states = () => around.recalled.map(({ cacheState }) => cacheState);

  beforeEach(() => {
    around = new Surroundings();
    for (const name of ['a', 'b']) around.memory.put('team', url(name), { body: name, ageMs: 1 });
  });

  it('asks the cache once, and the host for nothing', async () => {
    expect(await around.run(cachedLane(['a', 'b'], { gapMs: 60_000 }))).toMatchObject({ reason: 'done', unrun: [] });
    expect(around.memory.questions).toHaveLength(1);
    expect(states()).toEqual(['hit', 'hit']);
    expect(around.fetched).toEqual([]);
    expect(around.cleanHosts).toEqual([]);
    expect(around.results().map(({ outcome, credits }) => [outcome, credits])).toEqual([
      ['ok', 1],
      ['ok', 1],
    ]);
  });

  it('serves them while the host is under penalty, and gives the rest back', async () => {
    around.pauses.set(HOST, 60_000);
    expect(await around.run(cachedLane(['a', 'c', 'b']))).toMatchObject({ reason: 'penalty', unrun: [2, 3] });
    expect(states()).toEqual(['hit']);
  });

  it('fetches what is not there, and says that it looked', async () => {
    const asked: unknown[] = [];
    around.fetch = async (request) => {
      asked.push(request.metadata.cacheState);
      return pageOf(request.url);
    };
    await around.run(cachedLane(['a', 'c']));
    expect(asked).toEqual(['miss']);
    expect(around.fetched.map(({ url: fetched }) => fetched)).toEqual([url('c')]);
  });

  it('obeys robots.txt and the scope of today', async () => {
    around.memory.put('team', url('moved'), { body: 'x', ageMs: 1, meta: { finalUrl: `http://${HOST}/outside` } });
    await around.run(cachedLane(['moved']));
    expect(around.results()).toMatchObject([{ outcome: 'redirected' }]);
    around = new Surroundings();
    around.memory.put('team', url('a'), { body: 'a', ageMs: 1 });
    around.rules = parseRobots('User-agent: *\nDisallow: /');
    await around.run(cachedLane(['a']));
    expect(around.results()).toMatchObject([{ outcome: 'robots' }]);
  });

  it('fails a page that may only come from the cache and is not there', async () => {
    await around.run(
      cachedLane(['c'], { spec: { ...CACHED_SPEC, cache: { maxAgeMs: 1e9, minAgeMs: 1, store: true } } }),
    );
    expect(around.results()).toMatchObject([{ outcome: 'failed', rule: 'SCRAPE_NO_CACHED_DATA', retryable: false }]);
    expect(around.fetched).toEqual([]);
  });

  it('does without a cache in a job that an older version started', async () => {
    const { cache: _cache, changeTracking: _tracking, zeroRetention: _zero, ...old } = CACHED_SPEC;
    await around.run(laneOf([url('a')], { spec: old as Lane['spec'] }));
    expect(around.memory.questions).toEqual([]);
    expect(around.results()).toMatchObject([{ outcome: 'ok', credits: 1 }]);
  });
});

describe('a lane that leaves nothing behind', () => {
  it('stores its documents where they are erased with the job, and tells what they cost', async () => {
    const around = new Surroundings();
    around.fetch = async (request) => pageOf(request.url, { document: new Uint8Array(20_000), credits: 2 });
    await around.run(laneOf([url('a')], { spec: { ...CACHED_SPEC, zeroRetention: true } }));
    expect(around.results()).toMatchObject([{ blob: 'zdr/job/blob', credits: 2 }]);
    expect(around.blobs).toEqual([]);
  });
});

describe('a lane whose call is recorded', () => {
  const LANE = `00-${'a'.repeat(32)}-${'1'.repeat(16)}-01`;

  interface Seen {
    name: string;
    parent: string | undefined;
    attributes: SpanAttributes;
    isEnded: boolean;
  }

  async function record(lane: Lane, around = new Surroundings()): Promise<Seen[]> {
    const seen: Seen[] = [];
    const tracer: Tracer = {
      ...NO_TRACES,
      span: (name, parent, options = {}) => {
        const span: Seen = { name, parent, attributes: { ...options.attributes }, isEnded: false };
        seen.push(span);
        return {
          context: `${LANE.slice(0, 36)}${String(seen.length).padStart(16, '0')}-01`,
          set: (attributes) => void Object.assign(span.attributes, attributes),
          rename: () => undefined,
          end: () => void (span.isEnded = true),
        };
      },
    };
    await new LaneRun(lane, { ...around.parts, tracer }, LANE).execute();
    expect(around.sent.map(({ trace }) => trace)).toEqual(around.sent.map(() => LANE));
    return seen;
  }

  it('shows each page with what it waited for, how it ended and where it was stored', async () => {
    const around = new Surroundings();
    const asked: PageRequest[] = [];
    around.fetch = async (request) => {
      asked.push(request);
      if (request.url === url('b')) throw new TroupeError('SCRAPE_SSL_ERROR', 'bad certificate');
      return pageOf(request.url, { document: new Uint8Array(20_000) });
    };
    const seen = await record(laneOf([`${url('a')}?key=secret`, url('b')]), around);
    const pages = seen.filter(({ name }) => name === 'page');
    expect(pages).toMatchObject([
      { parent: LANE, attributes: { 'url.full': url('a'), 'troupe.outcome': 'ok' } },
      {
        parent: LANE,
        attributes: { 'url.full': url('b'), 'troupe.outcome': 'failed', 'error.type': 'SCRAPE_SSL_ERROR' },
      },
    ]);
    expect(seen.filter(({ isEnded }) => !isEnded)).toEqual([]);
    const below = (request: PageRequest) =>
      seen.filter(({ parent }) => parent === request.trace).map(({ name }) => name);
    expect(asked.map(below)).toEqual([
      ['check robots', 'wait for host', 'store document'],
      ['check robots', 'wait for host'],
    ]);
    expect(seen.map(({ name }) => name).slice(0, 2)).toEqual(['claim slot', 'wait for handover']);
  });

  it('names no address when nothing of it may be kept', async () => {
    const seen = await record(laneOf([url('a')], { spec: { ...CACHED_SPEC, zeroRetention: true } }));
    expect(seen.length).toBeGreaterThan(3);
    expect(JSON.stringify(seen)).not.toContain(HOST);
  });
});
