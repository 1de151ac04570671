import { describe, expect, it } from '@jest/globals';
import { TroupeError, type ModelFormat, type PageModelReply, type PageModelRequest } from '@troupe/contracts';
import { PageModels, type PageQuestion } from './page-models.js';

const JSON_FORMAT: ModelFormat = { type: 'json', prompt: 'title', schema: null, selectors: null, learn: false };
const QUESTION: PageQuestion = {
  team: 'team',
  url: 'http://site.test/',
  title: null,
  formats: [JSON_FORMAT, { type: 'summary' }],
  changes: null,
  zeroRetention: false,
};
const ANSWER: PageModelReply = { ok: true, parts: { json: 1 }, tokens: 3, warnings: ['Earlier.'], failures: [] };

/** A stand-in for the extractor behind `rpc.model.page`. */
class Extractor {
  readonly asked: { head: PageModelRequest; texts: unknown; timeoutMs: number }[] = [];
  answer: () => Promise<PageModelReply> = async () => ANSWER;
  readonly models = new PageModels({
    call: async (_subject, head, body, { timeoutMs }) => {
      const texts: unknown = JSON.parse(Buffer.from(body!).toString());
      this.asked.push({ head: head as PageModelRequest, texts, timeoutMs });
      return { head: (await this.answer()) as never, body: new Uint8Array(0) };
    },
  });

  ask(texts = { markdown: '# Title' }, leftMs = 10_000, signal = new AbortController().signal) {
    return this.models.ask(QUESTION, texts, { leftMs, signal });
  }
}

describe('the extractor', () => {
  it('is asked with the time that is left, less what the answer needs', async () => {
    const extractor = new Extractor();
    expect(await extractor.ask()).toMatchObject({ parts: { json: 1 }, tokens: 3, warnings: ['Earlier.'] });
    await extractor.ask({ markdown: 'x' }, 2000);
    expect(extractor.asked.map(({ timeoutMs }) => timeoutMs)).toEqual([9500, 1800]);
    expect(extractor.asked[0]).toMatchObject({
      head: { ...QUESTION, deadlineMs: 9500 },
      texts: { markdown: '# Title' },
    });
    const [first, second] = extractor.asked.map(({ head }) => head.id);
    expect(first).not.toBe(second);
  });

  it.each([
    ['is not there', new TroupeError('CONCURRENCY_QUEUE_TIMEOUT', 'rpc', { retryable: true }), /No extractor/],
    ['is too slow', new TroupeError('SCRAPE_TIMEOUT', 'rpc.model.page'), /within the time of the page/],
    ['breaks', new Error('boom'), /boom/],
  ])('that %s costs every format', async (_, error, message) => {
    const extractor = new Extractor();
    extractor.answer = () => Promise.reject(error);
    const { failures, parts } = await extractor.ask();
    expect(parts).toEqual({});
    expect(failures).toMatchObject([
      { what: 'json', error: { message: expect.stringMatching(message) } },
      { what: 'summary', error: { message: expect.stringMatching(message) } },
    ]);
    expect(failures[0]!.error.message).not.toContain('rpc');
  });

  it('that cannot answer at all says why', async () => {
    const extractor = new Extractor();
    const error = { code: 'NOT_SUPPORTED', message: 'no model', retryable: false, httpStatus: 501 } as const;
    extractor.answer = async () => ({ ok: false, error });
    expect((await extractor.ask()).failures).toMatchObject([
      { what: 'json', error },
      { what: 'summary', error },
    ]);
  });

  it('is not asked about a page without text, or when there is no time', async () => {
    const extractor = new Extractor();
    expect((await extractor.ask({ markdown: ' \n' })).failures[0]!.error).toMatchObject({ code: 'SCRAPE_JSON_FAILED' });
    expect((await extractor.ask({ markdown: 'x' }, 50)).failures[0]!.error).toMatchObject({ code: 'SCRAPE_TIMEOUT' });
    expect(extractor.asked).toEqual([]);
  });

  it('gets no more of a text than fits a message, and the reader is told', async () => {
    const extractor = new Extractor();
    const { warnings } = await extractor.ask({ markdown: 'x'.repeat(2_000_001) });
    expect(extractor.asked[0]!.texts).toEqual({ markdown: 'x'.repeat(2_000_000) });
    expect(warnings).toEqual(['Earlier.', expect.stringContaining('trimmed to 2000000 characters')]);
  });

  it('is left when the caller has gone', async () => {
    const extractor = new Extractor();
    const caller = new AbortController();
    extractor.answer = () => {
      caller.abort(new Error('gone'));
      return Promise.reject(new Error('aborted'));
    };
    await expect(extractor.ask(undefined, undefined, caller.signal)).rejects.toThrow('gone');
  });
});
