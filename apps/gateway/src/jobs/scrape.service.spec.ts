import { describe, expect, it } from '@jest/globals';
import { plainScrape, TroupeError, type FetchReply, type FetchRequest, type ScrapeSpec } from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { ApiError } from '../errors/api-error.js';
import { RemoteCalls } from './remote-calls.js';
import { ScrapeService } from './scrape.service.js';
import { ScrapedDocuments } from './scraped-documents.js';

const CALLER: Caller = {
  team: 'team-a',
  teamName: 'a',
  keyId: 'key',
  concurrency: 10,
  creditsLimit: null,
  hasModel: false,
  flags: {},
};
const SPEC: ScrapeSpec = plainScrape({ formats: [{ type: 'markdown' }], timeoutMs: 9000, onlyMainContent: true });
const ORDER = { url: 'http://example.com/', sourceUrl: 'example.com', spec: SPEC };
const never = new AbortController().signal;
const DOCUMENT = Buffer.from('{"metadata":{}}');
const OK: FetchReply = { ok: true, statusCode: 200, finalUrl: ORDER.url, engine: 'http', ms: 1, credits: 1 };

type Parts = ConstructorParameters<typeof ScrapeService>;
type Over = { usage?: Parts[2]; targets?: Parts[4]; credits?: Parts[5]; link?: { isUp(): boolean } };

function fixture(reply: () => FetchReply, over: Over = {}) {
  const log = {
    requests: [] as FetchRequest[],
    billed: [] as unknown[],
    kept: [] as string[],
    released: 0,
    waits: [] as number[],
  };
  const parts = {
    rpc: {
      call: (_subject: string, head: object) => {
        log.requests.push(head as FetchRequest);
        return Promise.resolve({ head: reply(), body: DOCUMENT });
      },
    } as unknown as ConstructorParameters<typeof RemoteCalls>[0],
    link: { isUp: () => true },
    tokens: {
      acquire: (_team: string, waitMs: number) => {
        log.waits.push(waitMs);
        return Promise.resolve({ limited: true, queuedMs: 400, release: () => void log.released++ });
      },
    },
    usage: { record: (usage: object) => Promise.resolve(void log.billed.push(usage)) },
    archive: { keep: (id: string) => void log.kept.push(id) },
    targets: { check: () => undefined },
    credits: { charge: () => Promise.resolve() },
    ...over,
  };
  const { rpc, link, tokens, usage, archive, targets, credits } = parts;
  const calls = new RemoteCalls(rpc, link);
  return { service: new ScrapeService(calls, tokens, usage, archive, targets, credits), log };
}

describe('ScrapeService', () => {
  it('fetches nothing for a team that cannot pay', async () => {
    const charge = () => Promise.reject(new ApiError(402, 'Insufficient credits'));
    const { service, log } = fixture(() => OK, { credits: { charge } });
    await expect(service.scrape(CALLER, ORDER, never)).rejects.toMatchObject({ status: 402 });
    expect(log.requests).toEqual([]);
  });

  it('hands on the document’s bytes, bills them under the scrape’s id and keeps them', async () => {
    const { service, log } = fixture(() => OK);
    const answer = await service.scrape(CALLER, ORDER, never);
    expect(answer.document).toBe(DOCUMENT);
    expect(log.billed).toEqual([
      expect.objectContaining({ id: answer.id, team: 'team-a', keyId: 'key', credits: 1, statusCode: 200 }),
    ]);
    expect(log.kept).toEqual([answer.id]);
    expect(log.released).toBe(1);
  });

  it('waits for a place at most two thirds of the timeout and says how long it took', async () => {
    const { service, log } = fixture(() => OK);
    const { id } = await service.scrape(CALLER, ORDER, never);
    expect(log.waits).toEqual([6000]);
    expect(log.requests[0]!.metadata).toMatchObject({
      scrapeId: id,
      concurrencyLimited: true,
      concurrencyQueueDurationMs: 400,
    });
    expect(log.requests[0]).toMatchObject({ url: 'http://example.com/', sourceUrl: 'example.com' });
  });

  it('bills an unknown host and no other failure', async () => {
    const failure = (code: 'SCRAPE_DNS_RESOLUTION_ERROR' | 'SCRAPE_SITE_ERROR'): FetchReply => ({
      ok: false,
      error: { code, message: 'no', retryable: false, httpStatus: 200 },
    });
    const dns = fixture(() => failure('SCRAPE_DNS_RESOLUTION_ERROR'));
    await expect(dns.service.scrape(CALLER, ORDER, never)).rejects.toMatchObject({
      code: 'SCRAPE_DNS_RESOLUTION_ERROR',
    });
    expect(dns.log).toMatchObject({ billed: [expect.objectContaining({ credits: 1 })], kept: [], released: 1 });
    const site = fixture(() => failure('SCRAPE_SITE_ERROR'));
    await expect(site.service.scrape(CALLER, ORDER, never)).rejects.toMatchObject({ code: 'SCRAPE_SITE_ERROR' });
    expect(site.log).toMatchObject({ billed: [], released: 1 });
  });

  it('does not answer what it could not bill', async () => {
    const { service, log } = fixture(() => OK, {
      usage: { record: () => Promise.reject(new Error('stream is away')) },
    });
    await expect(service.scrape(CALLER, ORDER, never)).rejects.toMatchObject({ status: 503 });
    expect(log.kept).toEqual([]);
  });

  it('refuses a forbidden target before it takes a place', async () => {
    const forbid = () => {
      throw new TroupeError('SCRAPE_TARGET_FORBIDDEN', 'no');
    };
    const { service, log } = fixture(() => OK, { targets: { check: forbid } });
    await expect(service.scrape(CALLER, ORDER, never)).rejects.toMatchObject({ httpStatus: 403 });
    expect(log.waits).toEqual([]);
  });

  it('answers 503 at once while NATS is away', async () => {
    const { service } = fixture(() => OK, { link: { isUp: () => false } });
    await expect(service.scrape(CALLER, ORDER, never)).rejects.toMatchObject({ status: 503, retryAfterS: 5 });
  });

  it('does not find another team’s document', async () => {
    const stored = { team: 'team-b', packed: Buffer.alloc(0), expiresAt: new Date() };
    const pages = { ofScrapeId: () => Promise.resolve(null) };
    const documents = new ScrapedDocuments({ find: () => Promise.resolve(stored) }, pages);
    await expect(documents.find(CALLER, '0a6c0000-0000-4000-8000-000000000000')).rejects.toMatchObject({
      status: 404,
      message: 'Job not found.',
    });
  });
});
