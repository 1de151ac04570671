import { describe, expect, it } from '@jest/globals';
import { NO_TRACES, PLAIN_PAGE, type BatchSpec, type CrawlSpec, type ScrapeSpec } from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { ApiError } from '../errors/api-error.js';
import { WorkGate } from '../limits/work-gate.js';
import { JobSubmitService } from './job-submit.service.js';
import { type NewJob } from './ports.js';

const CALLER: Caller = {
  team: 't',
  teamName: 'a',
  keyId: 'k',
  concurrency: 10,
  creditsLimit: 100,
  hasModel: false,
  flags: {},
};
const SUBMISSION = { caller: CALLER, origin: 'api', integration: null, idempotencyKey: 'once' };
const scrape = PLAIN_PAGE as ScrapeSpec;
const CRAWL = { url: 'example.com', scope: { base: 'http://example.com/' }, limit: 100, scrape } as CrawlSpec;
const URLS = ['a', 'b'].map((name) => ({ url: `http://${name}.example/`, host: `${name}.example` }));

type Gate = ConstructorParameters<typeof WorkGate>;

function submitWith(over: { work?: Gate[0]; credits?: Gate[1] } = {}) {
  const created: NewJob[] = [];
  const order: string[] = [];
  const jobs = {
    create: (job: NewJob) => {
      created.push(job);
      return Promise.resolve({ job: 'id', jobNo: '1', command: { id: 'c', envelope: {} as never } });
    },
  };
  const { work, credits } = {
    credits: {
      charge: (_: object, credits: number) => Promise.resolve(void order.push(`charge ${credits}`)),
      affordable: (_: object, limit: number) => {
        order.push('afford');
        return Promise.resolve(Math.min(limit, 7));
      },
    },
    work: { openPages: () => Promise.resolve(0) },
    ...over,
  };
  const submit = new JobSubmitService(
    jobs,
    { ensureUp: () => undefined, send: () => undefined },
    { check: () => void order.push('blocklist') },
    { check: () => undefined },
    new WorkGate(work, credits),
    NO_TRACES,
  );
  return { submit, created, order };
}

describe('JobSubmitService', () => {
  it('shortens a crawl to what its team can pay, and shows the limit that was asked for', async () => {
    const { submit, created, order } = submitWith();
    expect(await submit.startCrawl(CRAWL, SUBMISSION)).toBe('id');
    expect(created).toMatchObject([{ spec: { limit: 7 }, wireOptions: { limit: 100 }, idempotencyKey: 'once' }]);
    expect(order).toEqual(['afford', 'blocklist']);
  });

  it('records that a job leaves nothing behind', async () => {
    const { submit, created } = submitWith();
    const erased = { ...scrape, zeroRetention: true };
    await submit.startCrawl({ ...CRAWL, scrape: erased }, SUBMISSION);
    await submit.startBatch({ maxConcurrency: null, scrape: erased, webhook: null }, URLS, SUBMISSION);
    await submit.startCrawl(CRAWL, SUBMISSION);
    expect(created.map(({ zdr }) => zdr)).toEqual([true, true, false]);
  });

  it('asks for one credit per URL of a batch', async () => {
    const { submit, order } = submitWith();
    await submit.startBatch({ scrape } as BatchSpec, URLS, SUBMISSION);
    expect(order).toEqual(['charge 2']);
  });

  it('records nothing that cannot be paid', async () => {
    const refuse = () => Promise.reject(new ApiError(402, 'Insufficient credits'));
    const { submit, created } = submitWith({ credits: { charge: refuse, affordable: refuse } });
    await expect(submit.startCrawl(CRAWL, SUBMISSION)).rejects.toMatchObject({ status: 402 });
    await expect(submit.startBatch({} as BatchSpec, URLS, SUBMISSION)).rejects.toMatchObject({ status: 402 });
    expect(created).toEqual([]);
  });

  it.each([
    [10, 49_999, true],
    [10, 50_000, false],
    [100, 199_999, true],
    [100, 200_000, false],
  ])('with %i places and %i open pages takes another job: %s', async (concurrency, open, isTaken) => {
    const { submit } = submitWith({ work: { openPages: () => Promise.resolve(open) } });
    const started = submit.startCrawl(CRAWL, { ...SUBMISSION, caller: { ...CALLER, concurrency } });
    if (isTaken) await expect(started).resolves.toBe('id');
    else
      await expect(started).rejects.toMatchObject({
        status: 429,
        retryAfterS: 60,
        message: expect.stringMatching(/^Rate limit exceeded/),
      });
  });
});
