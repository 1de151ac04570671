import { describe, expect, it } from '@jest/globals';
import { TroupeError } from '@troupe/contracts';
import { type ModelJob } from '../../jobs/model-jobs.service.js';
import { readBody } from '../validation/read-body.js';
import { ExtractDto } from './extract.dto.js';
import { extractFromV2, extractToV2 } from './extract.mapper.js';

const RULES = {
  maxScrapeTimeoutMs: 600_000,
  changeTrackingDiffShape: 'auto',
  checkTarget: (url: string) => {
    if (url.includes('//10.')) throw new TroupeError('SCRAPE_TARGET_FORBIDDEN', 'private');
  },
} as const;

const orderOf = (raw: object) => extractFromV2(readBody(ExtractDto, raw).body, RULES);

describe('the body of an extract job', () => {
  it('says what the model needs, with the defaults of the interface', () => {
    const { spec, invalidUrls, warnings } = orderOf({ urls: ['example.com/a'], prompt: 'x' });
    expect(spec).toMatchObject({
      urls: ['http://example.com/a'],
      prompt: 'x',
      schema: null,
      systemPrompt: null,
      allowExternalLinks: false,
      ignoreSitemap: false,
      includeSubdomains: true,
      limit: null,
      showSources: false,
      timeoutMs: 600_000,
      webhook: null,
      warning: null,
    });
    expect(spec.scrape).toMatchObject({
      onlyMainContent: false,
      formats: [{ type: 'markdown' }],
      zeroRetention: false,
    });
    expect({ invalidUrls, warnings }).toEqual({ invalidUrls: null, warnings: [] });
  });

  it('keeps wildcards, and each address once', () => {
    const urls = ['https://a.example/*', ' https://a.example/docs/* ', 'https://a.example/x', 'https://a.example/x'];
    expect(orderOf({ urls, prompt: 'x' }).spec.urls).toEqual([
      'https://a.example/*',
      'https://a.example/docs/*',
      'https://a.example/x',
    ]);
  });

  it('leaves bad and forbidden addresses out and names them, unless it may not', () => {
    const urls = ['https://a.example/', 'ftp://b.example/', 'http://10.0.0.1/*'];
    expect(orderOf({ urls, prompt: 'x' })).toMatchObject({
      spec: { urls: ['https://a.example/'] },
      invalidUrls: ['ftp://b.example/', 'http://10.0.0.1/*'],
    });
    const strict = { prompt: 'x', ignoreInvalidURLs: false };
    expect(() => orderOf({ ...strict, urls })).toThrow(
      expect.objectContaining({ issues: [expect.objectContaining({ path: ['urls', 1] })] }),
    );
    expect(() => orderOf({ ...strict, urls: [urls[0], urls[2]] })).toThrow('private');
    expect(() => orderOf({ urls: urls.slice(1), prompt: 'x' })).toThrow('No valid URLs were given');
  });

  it('keeps every word of a schema, null included', () => {
    const schema = { type: 'object', properties: { a: { enum: ['x', null], default: null, const: null } } };
    expect(orderOf({ urls: ['https://a.example/'], schema }).spec.schema).toEqual(schema);
  });

  it('takes a webhook by its address, and web search for leave to follow links outside', () => {
    const { spec } = orderOf({ prompt: 'x', webhook: 'https://hook.example/', enableWebSearch: true, timeout: 1e12 });
    expect(spec).toMatchObject({ urls: [], allowExternalLinks: true, timeoutMs: 86_400_000 });
    expect(spec.webhook).toMatchObject({ url: 'https://hook.example/', headers: {} });
  });

  it('says what of it has no effect', () => {
    const scrapeOptions = { formats: ['markdown', 'links'] };
    const { spec, warnings } = orderOf({ prompt: 'x', agent: { model: 'FIRE-1' }, scrapeOptions });
    expect(warnings).toEqual([expect.stringContaining('agent'), expect.stringContaining('scrapeOptions.formats')]);
    expect(spec.warning).toBe(warnings.join(' '));
  });

  it.each([
    [{ urls: ['https://a.example/'] }, 'Either prompt or schema is required'],
    [{ urls: ['https://a.example/'], prompt: ' \n' }, 'Either prompt or schema is required'],
    [{ schema: {}, prompt: '' }, 'Either urls or prompt is required'],
    [{ schema: {} }, 'Either urls or prompt is required'],
    [{ schema: {}, urls: [] }, 'Either urls or prompt is required'],
  ])('is refused: %j', (raw, message) => {
    expect(() => orderOf(raw)).toThrow(message);
  });
});

describe('the status of an extract job', () => {
  const view = (over: object, result: ModelJob['result'] = null, showSources = false) =>
    extractToV2({
      job: {
        status: 'scraping',
        error: null,
        warning: null,
        expiresAt: new Date(0),
        tokens: 31,
        creditsUsed: 3,
        wireOptions: { showSources },
        ...over,
      } as ModelJob['job'],
      result,
    });
  const base = { success: true, data: [], expiresAt: '1970-01-01T00:00:00.000Z', tokensUsed: 31, creditsUsed: 3 };

  it('is an empty list until the job is completed', () => {
    expect(view({})).toEqual({ ...base, status: 'processing' });
    expect(view({ status: 'cancelled' })).toEqual({ ...base, status: 'cancelled' });
    expect(view({ status: 'failed', error: 'no' })).toEqual({ ...base, success: false, status: 'failed', error: 'no' });
  });

  it('shows the result, and its sources when they were asked for', () => {
    const result = { data: { a: 1 }, sources: { a: ['https://a.example/'] } };
    const completed = { status: 'completed', warning: 'trimmed' };
    const shown = { ...base, status: 'completed', data: { a: 1 }, warning: 'trimmed' };
    expect(view(completed, result)).toEqual(shown);
    expect(view(completed, result, true)).toEqual({ ...shown, sources: result.sources });
  });
});
