import { gunzipSync, gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ErrorCode, Format, ModelPart, PageDocument, ScrapeSpec } from '@troupe/contracts';
import { CACHED_SPEC } from '../cache/memory-cache.fixture.js';
import { readingSpec } from '../models/model-wish.js';
import type { PageAnswer, PageQuestion } from '../models/page-models.js';
import type { FetchedPage } from './page-fetcher.js';
import { PageFinisher } from './page-finisher.js';

const JSON_FORMAT: Format = { type: 'json', prompt: 'title', schema: null, selectors: null, learn: false };
const SUMMARY: Format = { type: 'summary' };
const QUESTION: Format = { type: 'question', question: 'Why?' };
const HIGHLIGHTS: Format = { type: 'highlights', query: 'why' };
const MARKDOWN: Format = { type: 'markdown' };

function failureOf(what: ModelPart, code: ErrorCode = 'SCRAPE_JSON_FAILED'): PageAnswer['failures'][number] {
  return { what, error: { code, message: `no ${what}.`, retryable: true, httpStatus: 500 } };
}

describe('a page that a model writes for', () => {
  let answer: Partial<PageAnswer>;
  let asked: { question: PageQuestion; texts: unknown }[];

  beforeEach(() => {
    asked = [];
    answer = { parts: { json: { title: 'T' } } };
  });

  /** The document has what the conversion gives for such formats. */
  async function finish(
    formats: Format[],
    more: { spec?: Partial<ScrapeSpec>; document?: Partial<PageDocument> } = {},
  ) {
    const spec: ScrapeSpec = { ...CACHED_SPEC, formats, ...more.spec };
    const names = readingSpec(spec).formats.map(({ type }) => type);
    const converted = {
      ...(names.includes('markdown') ? { markdown: '# T' } : {}),
      ...(names.includes('html') ? { html: '<h1>T</h1>' } : {}),
      ...more.document,
      metadata: { creditsUsed: 1 },
    };
    const gzip = gzipSync(JSON.stringify(converted));
    const page = { document: gzip, title: 'T', finalUrl: 'http://site.test/', credits: 1 } as unknown as FetchedPage;
    const finisher = new PageFinisher({
      changes: { examine: async () => null },
      models: {
        ask: async (question, texts) => {
          asked.push({ question, texts });
          return { parts: {}, tokens: 100, warnings: [], failures: [], ...answer };
        },
      },
    });
    const scrape = { team: 'team', url: 'http://site.test/', scrape: 'id', spec };
    const limits = { leftMs: 1000, signal: new AbortController().signal };
    const result = await finisher.finish(page, scrape, limits);
    return { result, document: JSON.parse(gunzipSync(result.document).toString()) as PageDocument, page };
  }

  it('is left as it is when no format needs one', async () => {
    const { result, page } = await finish([MARKDOWN]);
    expect(result).toBe(page);
  });

  it('shows its text to the model only, unless it was asked for too', async () => {
    const { document } = await finish([JSON_FORMAT]);
    expect(document).toEqual({ json: { title: 'T' }, metadata: { creditsUsed: 5 } });
    expect(asked).toEqual([
      {
        question: {
          team: 'team',
          url: 'http://site.test/',
          title: 'T',
          formats: [JSON_FORMAT],
          changes: null,
          zeroRetention: false,
        },
        texts: { markdown: '# T' },
      },
    ]);
    expect((await finish([MARKDOWN, JSON_FORMAT])).document.markdown).toBe('# T');
  });

  it('shows its markup where selectors may be learned', async () => {
    const { document } = await finish([{ ...JSON_FORMAT, learn: true }]);
    expect(asked[0]!.texts).toEqual({ markdown: '# T', html: '<h1>T</h1>' });
    expect(Object.keys(document).sort()).toEqual(['json', 'metadata']);
  });

  it('has its facts under the old name where they were asked for by it', async () => {
    const { document } = await finish([{ ...JSON_FORMAT, key: 'extract' }]);
    expect(document).toMatchObject({ extract: { title: 'T' } });
    expect(document).not.toHaveProperty('json');
  });

  it.each([
    ['facts', { json: 1 }, 5],
    ['a summary', { summary: 's' }, 1],
    ['an answer', { answer: 'a' }, 5],
    ['facts, an answer and passages', { json: 1, answer: 'a', highlights: 'h' }, 13],
    ['nothing', {}, 1],
  ])('costs by what was written: %s', async (_, parts, credits) => {
    answer = { parts, failures: [failureOf('summary')] };
    const { result, document } = await finish([MARKDOWN, JSON_FORMAT, SUMMARY, QUESTION, HIGHLIGHTS]);
    expect([result.credits, document.metadata.creditsUsed]).toEqual([credits, credits]);
  });

  it('costs nothing more when its facts came without a model', async () => {
    answer = { parts: { json: 1 }, tokens: 0 };
    expect((await finish([JSON_FORMAT])).result.credits).toBe(1);
  });

  it('tells what failed before what was said already', async () => {
    answer = { parts: {}, warnings: ['Trimmed.'], failures: [failureOf('json')] };
    const { document } = await finish([MARKDOWN, JSON_FORMAT], { document: { warning: 'Earlier.' } });
    expect(document.warning).toBe('The format json could not be made: no json. Trimmed. Earlier.');
    expect(document).not.toHaveProperty('json');
  });

  it('fails when a model gave nothing and nothing else was asked', async () => {
    answer = { failures: [failureOf('json')], parts: {} };
    await expect(finish([JSON_FORMAT])).rejects.toMatchObject({ code: 'SCRAPE_JSON_FAILED', retryable: true });
    answer = { failures: [failureOf('summary'), failureOf('question')], parts: {} };
    await expect(finish([SUMMARY, QUESTION])).rejects.toMatchObject({ message: 'no question.' });
    answer = { failures: [failureOf('json', 'SCRAPE_TIMEOUT')], parts: {} };
    await expect(finish([JSON_FORMAT])).rejects.toMatchObject({ code: 'SCRAPE_TIMEOUT' });
  });

  it('does without a summary, and with any of several parts', async () => {
    answer = { failures: [failureOf('summary')], parts: {} };
    expect((await finish([SUMMARY])).document.warning).toBe('The format summary could not be made: no summary.');
    answer = { failures: [failureOf('json')], parts: { summary: 's' } };
    expect((await finish([JSON_FORMAT, SUMMARY])).document).toMatchObject({ summary: 's' });
  });

  it('is not shown to a model when nothing of it may be kept', async () => {
    const { document, result } = await finish([JSON_FORMAT, SUMMARY], { spec: { zeroRetention: true } });
    expect(document.warning).toMatch(/zero data retention.*json, summary/);
    expect(result.credits).toBe(1);
    expect(asked).toEqual([]);
  });

  it('whose facts are found by selectors needs no model', async () => {
    const selectors = { type: 'value' as const, selector: 'h1', attribute: null, as: 'string' as const };
    const { result, page } = await finish([{ ...JSON_FORMAT, selectors }]);
    expect(result).toBe(page);
  });
});
