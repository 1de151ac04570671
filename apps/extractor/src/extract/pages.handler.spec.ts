import { describe, expect, it } from '@jest/globals';
import type { ModelTask, PageModelReply, PageModelRequest } from '@troupe/contracts';
import { PagesHandler, type PagesTask } from './pages.handler.js';
import type { StoredPage } from './stored-pages.js';

const NEVER = new AbortController().signal;
const SCHEMA = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const PAGE: StoredPage = { ord: 3, item: 7, url: 'http://a.test/x', title: 'X', statusCode: 200, markdown: '# X' };
const GOOD: PageModelReply = {
  ok: true,
  parts: { json: { name: 'X' } },
  tokens: 60,
  warnings: ['trimmed'],
  failures: [],
};

function read(page: StoredPage | null, reply: PageModelReply = GOOD, schema: object | null = SCHEMA) {
  const asked: { request: PageModelRequest; markdown: string }[] = [];
  const handler = new PagesHandler({
    stored: { read: () => Promise.resolve(page) },
    reader: {
      answer: (request, { markdown }) => {
        asked.push({ request, markdown });
        return Promise.resolve(reply);
      },
    },
  });
  const spec = { prompt: 'the name', systemPrompt: 'be exact', schema, scrape: { zeroRetention: true } };
  const work = { what: 'pages', spec, child: 2, childNo: '9', ords: [3, 3] };
  const task = { team: 't', deadlineMs: 5_000, work } as unknown as ModelTask as PagesTask;
  return { asked, result: handler.run(task, NEVER) };
}

const failure = (retryable: boolean): PageModelReply => ({
  ok: true,
  parts: {},
  tokens: 12,
  warnings: [],
  failures: [{ what: 'json', error: { code: 'SCRAPE_JSON_FAILED', message: 'no', retryable, httpStatus: 500 } }],
});

describe('a page of an extract job', () => {
  it('is read for what is asked, none of it a must', async () => {
    const { result, asked } = read(PAGE);
    expect(await result).toEqual({
      outcome: { what: 'read', warning: 'trimmed' },
      value: [{ child: 2, item: 7, url: PAGE.url, value: { name: 'X' }, notes: ['trimmed'], error: null }],
      tokens: 60,
      credits: 0,
    });
    const [{ request, markdown }] = asked as [(typeof asked)[number]];
    expect(request).toMatchObject({ team: 't', url: PAGE.url, title: 'X', deadlineMs: 5_000, zeroRetention: true });
    expect(request.formats).toMatchObject([
      { type: 'json', schema: { type: 'object', properties: { name: { type: ['string', 'null'] } } }, selectors: null },
    ]);
    expect(JSON.stringify(request.formats)).not.toContain('required');
    expect(JSON.stringify(request.formats)).toMatch(/be exact.*the name.*one of several/);
    expect(markdown).toBe('# X');
  });

  it('is left out, with the reason, when the model has no answer for it', async () => {
    const { result } = read(PAGE, failure(false));
    expect(await result).toMatchObject({
      outcome: { what: 'read', warning: 'http://a.test/x could not be read: no' },
      value: [{ value: null, error: expect.stringContaining('no') }],
      tokens: 12,
    });
  });

  it('is tried again, its tokens counted, when the model was busy', async () => {
    await expect(read(PAGE, failure(true)).result).rejects.toMatchObject({
      retryable: true,
      tokens: { prompt: 12, answer: 0 },
    });
    const busy = { code: 'SCRAPE_TIMEOUT', message: 'late', retryable: true, httpStatus: 408 } as const;
    await expect(read(PAGE, { ok: false, error: busy }).result).rejects.toMatchObject({ code: 'SCRAPE_TIMEOUT' });
  });

  it.each([
    ['an error page of its site', { ...PAGE, statusCode: 404 }, 'answered with status 404'],
    ['gone', null, 'no longer stored'],
  ])('that is %s is left out unread', async (_, page, reason) => {
    const { result, asked } = read(page);
    expect(await result).toMatchObject({ value: [{ value: null, error: expect.stringContaining(reason) }], tokens: 0 });
    expect(asked).toEqual([]);
  });

  it('without any text tells nothing, and no model is asked', async () => {
    const { result, asked } = read({ ...PAGE, markdown: ' \n' });
    expect(await result).toMatchObject({
      outcome: { warning: null },
      value: [{ value: null, error: null }],
      tokens: 0,
    });
    expect(asked).toEqual([]);
  });
});
