import { describe, expect, it } from '@jest/globals';
import { TroupeError, type ScrapeSpec } from '@troupe/contracts';
import { type ProviderQuery, type SearchHit } from '@troupe/search';
import { type Caller } from '../auth/caller.js';
import { type SearchSpec } from './search-spec.js';
import { type ScrapeOrder } from '../jobs/scrape.service.js';
import { SearchService } from './search.service.js';

const CALLER: Caller = {
  team: 'team-a',
  teamName: 'a',
  keyId: 'key',
  concurrency: 10,
  creditsLimit: null,
  hasModel: false,
  flags: {},
};
const SCRAPE = { formats: [{ type: 'markdown' }], timeoutMs: 30_000 } as unknown as ScrapeSpec;
const SPEC: SearchSpec = {
  query: 'troupe',
  limit: 10,
  sources: [{ source: 'web', language: 'en-US', maxAge: null }],
  categories: [],
  includeDomains: [],
  excludeDomains: [],
  dropsForbidden: false,
  safe: false,
  scrape: null,
  timeoutMs: 5000,
};
const never = new AbortController().signal;

const hit = (url: string): SearchHit => ({ url, title: 't', text: 'x', date: null, imageUrl: null, imageSize: null });
const hits = (from: number, to: number): SearchHit[] =>
  Array.from({ length: to - from }, (_, n) => hit(`http://h.test/${from + n}`));

type Parts = ConstructorParameters<typeof SearchService>;
interface Around {
  provider: Parts[0];
  scrapes: Parts[1];
  targets: Parts[2];
  link: Parts[3];
  usage: Parts[4];
  credits: Parts[5];
}

function fixture(pages: (query: ProviderQuery) => SearchHit[], over: Partial<Around> = {}) {
  const log = { queries: [] as ProviderQuery[], billed: [] as { credits: number }[], scraped: [] as string[], most: 0 };
  let running = 0;
  const around: Around = {
    provider: {
      search: (query) => {
        log.queries.push(query);
        return Promise.resolve({ hits: pages(query), warning: null });
      },
    },
    scrapes: {
      scrape: async (_caller: Caller, { url }: ScrapeOrder) => {
        log.scraped.push(url);
        log.most = Math.max(log.most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        return { id: 'page', document: Buffer.from('{"markdown":"m"}'), credits: 1, warning: undefined };
      },
    },
    targets: { check: (url) => void (url.includes('10.0.0.1') && forbid()) },
    link: { isUp: () => true },
    usage: { record: (usage) => Promise.resolve(void log.billed.push(usage)) },
    credits: { charge: () => Promise.resolve() },
    ...over,
  };
  const { provider, scrapes, targets, link, usage, credits } = around;
  return { service: new SearchService(provider, scrapes, targets, link, usage, credits), log };
}

function forbid(): never {
  throw new TroupeError('SCRAPE_TARGET_FORBIDDEN', 'no');
}

describe('SearchService', () => {
  it('asks page after page until there are enough results, and counts their positions', async () => {
    const { service, log } = fixture(({ page }) => hits((page - 1) * 10, page * 10));
    const { results } = await service.search(CALLER, { ...SPEC, limit: 25 }, never);
    expect(results.get('web')!.map(({ position }) => position)).toEqual(Array.from({ length: 25 }, (_, n) => n + 1));
    expect(log.queries.map(({ page }) => page)).toEqual([1, 2, 3]);
  });

  it('stops when a page brings nothing new, and lists every address once', async () => {
    const { service, log } = fixture(() => [...hits(0, 3), ...hits(0, 3)]);
    expect((await service.search(CALLER, SPEC, never)).results.get('web')).toHaveLength(3);
    expect(log.queries).toHaveLength(2);
  });

  it.each([
    [0, 0],
    [1, 2],
    [10, 2],
    [11, 4],
  ])('bills %d results with %d credits, once', async (count, credits) => {
    const { service, log } = fixture(({ page }) => (page === 1 ? hits(0, count) : []));
    expect((await service.search(CALLER, { ...SPEC, limit: 100 }, never)).creditsUsed).toBe(credits);
    expect(log.billed.map((usage) => usage.credits)).toEqual(credits === 0 ? [] : [credits]);
  });

  it('scrapes results of the web and of news, each page once, a few at a time', async () => {
    const { service, log } = fixture(({ page }) => (page === 1 ? hits(0, 20) : []));
    const sources = (['web', 'news', 'images'] as const).map((source) => ({ ...SPEC.sources[0]!, source }));
    const answer = await service.search(CALLER, { ...SPEC, limit: 20, sources, scrape: SCRAPE }, never);
    expect(log.scraped).toHaveLength(20);
    expect(log.most).toBe(8);
    expect(answer.creditsUsed).toBe(2 * 6 + 20);
    expect(answer.results.get('news')![0]!.page).toBeInstanceOf(Uint8Array);
    expect(answer).toMatchObject({ failures: [], warnings: [] });
    expect(answer.results.get('images')![0]!.page).toBeNull();
  });

  it('keeps a result that cannot be scraped and says why', async () => {
    const scrapes = { scrape: (_: Caller, { url }: ScrapeOrder) => Promise.reject(failureOf(url)) };
    const failureOf = (url: string) =>
      new TroupeError(url.endsWith('0') ? 'SCRAPE_DNS_RESOLUTION_ERROR' : 'SCRAPE_TARGET_FORBIDDEN', 'why');
    const { service } = fixture(({ page }) => (page === 1 ? hits(0, 2) : []), { scrapes });
    const answer = await service.search(CALLER, { ...SPEC, scrape: SCRAPE }, never);
    expect(answer.results.get('web')!.map(({ page }) => page)).toEqual([null, null]);
    expect(answer.failures).toEqual([
      { url: 'http://h.test/0', code: 'SCRAPE_DNS_RESOLUTION_ERROR', error: 'why' },
      { url: 'http://h.test/1', code: 'SCRAPE_TARGET_FORBIDDEN', error: 'why' },
    ]);
    expect(answer.warnings).toEqual(['2 pages could not be scraped: errors says why.']);
    expect(answer.creditsUsed).toBe(2 + 1);
  });

  it('leaves out results that would be refused, when asked to', async () => {
    const { service } = fixture(({ page }) => (page === 1 ? [hit('http://10.0.0.1/'), ...hits(0, 1)] : []));
    const urls = async (dropsForbidden: boolean) =>
      (await service.search(CALLER, { ...SPEC, dropsForbidden }, never)).results.get('web')!.map(({ url }) => url);
    expect(await urls(false)).toEqual(['http://10.0.0.1/', 'http://h.test/0']);
    expect(await urls(true)).toEqual(['http://h.test/0']);
  });

  it('ends with its timeout: without results as an error, with results as they are', async () => {
    const silent = { search: (_: ProviderQuery, signal: AbortSignal) => untilAborted<never>(signal) };
    await expect(
      fixture(() => [], { provider: silent }).service.search(CALLER, { ...SPEC, timeoutMs: 20 }, never),
    ).rejects.toMatchObject({ code: 'SCRAPE_TIMEOUT', httpStatus: 408 });
    const { service, log } = fixture(({ page }) => (page === 1 ? hits(0, 1) : []));
    const late = await service.search(CALLER, { ...SPEC, timeoutMs: 400, scrape: SCRAPE }, never);
    expect(late.results.get('web')![0]!.page).toBeNull();
    expect(late.failures).toMatchObject([{ code: 'SCRAPE_TIMEOUT' }]);
    expect(log.scraped).toEqual([]);
  });

  it('is not offered without a provider, and answers 503 while nothing can be billed', async () => {
    const without = fixture(() => [], { provider: null }).service;
    expect(() => without.checkOffered()).toThrow(expect.objectContaining({ code: 'NOT_SUPPORTED', httpStatus: 501 }));
    const down = fixture(() => [], { link: { isUp: () => false } }).service;
    await expect(down.search(CALLER, SPEC, never)).rejects.toMatchObject({ status: 503 });
    const unbilled = fixture(() => hits(0, 1), { usage: { record: () => Promise.reject(new Error('away')) } }).service;
    await expect(unbilled.search(CALLER, SPEC, never)).rejects.toMatchObject({ status: 503 });
  });
});

function untilAborted<T>(signal: AbortSignal): Promise<T> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
}
