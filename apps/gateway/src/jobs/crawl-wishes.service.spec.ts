import { describe, expect, it } from '@jest/globals';
import { TroupeError, type CrawlOptionsReply } from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { CrawlWishesService } from './crawl-wishes.service.js';
import { RemoteCalls } from './remote-calls.js';

const CALLER = { team: 'team-a' } as Caller;
const SENTENCE = { url: 'https://example.com/', prompt: 'only the blog' };

function serviceWith(
  answer: () => Promise<CrawlOptionsReply>,
  { link = { isUp: () => true }, targets = { check: () => {} } } = {},
) {
  const asked: unknown[] = [];
  const rpc: ConstructorParameters<typeof RemoteCalls>[0] = {
    call: async (subject, head, _body, { timeoutMs }) => {
      asked.push({ subject, head, timeoutMs });
      return { head: (await answer()) as never, body: new Uint8Array(0) };
    },
  };
  const service = new CrawlWishesService(new RemoteCalls(rpc, link), targets);
  return { asked, read: () => service.read(CALLER, SENTENCE, new AbortController().signal) };
}

describe('a sentence about a crawl', () => {
  it('is read by an extractor', async () => {
    const reply: CrawlOptionsReply = { ok: true, wishes: { limit: 5 }, tokens: 9, warning: 'Guessed.' };
    const { asked, read } = serviceWith(async () => reply);
    expect(await read()).toEqual({ wishes: { limit: 5 }, warning: 'Guessed.' });
    expect(asked).toMatchObject([
      { subject: 'rpc.model.crawl', head: { team: 'team-a', ...SENTENCE, deadlineMs: 60_000 }, timeoutMs: 60_500 },
    ]);
  });

  it.each([
    [
      'the model fails',
      async () => ({ ok: false as const, error: { code: 'SCRAPE_JSON_FAILED', message: 'no sense.' } as never }),
      /crawl options: no sense$/,
    ],
    [
      'no extractor is there',
      () => Promise.reject(new TroupeError('CONCURRENCY_QUEUE_TIMEOUT', 'rpc.model.crawl')),
      /no extractor had a free place in time$/,
    ],
    [
      'no extractor answers',
      () => Promise.reject(new TroupeError('SCRAPE_TIMEOUT', 'rpc.model.crawl')),
      /did not answer in time$/,
    ],
  ])('is a bad request when %s', async (_, answer, message) => {
    await expect(serviceWith(answer).read()).rejects.toMatchObject({
      code: 'BAD_REQUEST',
      httpStatus: 400,
      message: expect.stringMatching(message),
    });
  });

  it('about a forbidden site is not read', async () => {
    const forbidden = new TroupeError('SCRAPE_TARGET_FORBIDDEN', 'no');
    const targets = {
      check: () => {
        throw forbidden;
      },
    };
    const { asked, read } = serviceWith(() => Promise.reject(new Error('asked')), { targets });
    await expect(read()).rejects.toBe(forbidden);
    expect(asked).toEqual([]);
  });
});
