/** spec/errors.md and the conventions of spec/README.md, row by row. Nothing in here fetches a page. */
import { describe, expect, it } from '@jest/globals';
import { call, post, useGateway } from './api.js';

useGateway();

const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';

describe('health', () => {
  it.each(['/v2/health/liveness', '/v2/health/readiness'])('%s answers without a key', async (path) => {
    const { status, body } = await call(path, { headers: { authorization: '' } });
    expect({ status, body }).toEqual({ status: 200, body: { status: 'ok' } });
  });

  it('the root answers in plain text', async () => {
    const { status, headers } = await call('/', { headers: { authorization: '' } });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('text/plain');
  });
});

describe('authentication', () => {
  it.each([
    ['', 'Unauthorized'],
    ['Bearer ', 'Unauthorized: Token missing'],
    ['Bearer no-such-key', 'Unauthorized: Invalid token'],
  ])('the header %j answers 401 %s', async (authorization, error) => {
    const { status, body } = await call('/v2/crawl/active', { headers: { authorization } });
    expect({ status, body }).toEqual({ status: 401, body: { success: false, error } });
  });

  it('comes before validation and after the reading of the body', async () => {
    expect((await call('/v2/scrape', { raw: '{}', headers: { authorization: '' } })).status).toBe(401);
    expect((await call('/v2/scrape', { raw: '{', headers: { authorization: '' } })).status).toBe(400);
  });
});

describe('bodies', () => {
  it('malformed JSON answers 400 with its code', async () => {
    const { status, body } = await call('/v2/scrape', { raw: '{"url":' });
    expect(status).toBe(400);
    expect(body).toMatchObject({ success: false, code: 'BAD_REQUEST_INVALID_JSON' });
  });

  it('a body of 11 MB answers 413 in JSON', async () => {
    const { status, body } = await call('/v2/scrape', { raw: JSON.stringify({ url: 'a'.repeat(11_000_000) }) });
    expect(status).toBe(413);
    expect(body).toMatchObject({ success: false, error: expect.any(String) });
  });

  it('a body that is no JSON answers 415', async () => {
    const { status, body } = await call('/v2/scrape', { raw: 'url=x', headers: { 'content-type': 'text/plain' } });
    expect(status).toBe(415);
    expect(body.success).toBe(false);
  });

  it('JSON with a charset is fine', async () => {
    const { status } = await call('/v2/scrape', {
      raw: '{}',
      headers: { 'content-type': 'application/json; charset=utf-8' },
    });
    expect(status).toBe(400);
  });

  it.each(['GET', 'DELETE'])('an empty body with a JSON content type on %s is fine', async (method) => {
    const { status } = await call(`/v2/crawl/${UNKNOWN_ID}`, {
      method,
      headers: { 'content-type': 'application/json' },
    });
    expect(status).toBe(404);
  });
});

describe('validation', () => {
  it('reports every issue with code, path and message', async () => {
    const { status, body } = await post('/v2/scrape', { urll: 'x', waitFor: 70_000, mobile: 'true' });
    expect(status).toBe(400);
    expect(body).toMatchObject({ success: false, code: 'BAD_REQUEST', error: 'Bad Request' });
    expect(body.details).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ code: 'unrecognized_keys', keys: ['urll'], path: [] }),
        { code: 'invalid_type', expected: 'string', received: 'undefined', path: ['url'], message: 'Required' },
        expect.objectContaining({
          code: 'too_big',
          maximum: 60_000,
          type: 'number',
          inclusive: true,
          path: ['waitFor'],
        }),
        expect.objectContaining({ code: 'invalid_type', expected: 'boolean', received: 'string', path: ['mobile'] }),
      ]),
    );
  });

  it.each([
    ['/v2/scrape', { url: 'nope' }, ['url']],
    ['/v2/scrape', { url: 'ftp://x.example' }, ['url']],
    ['/v2/scrape', { url: 'http://http://x.example' }, ['url']],
    ['/v2/crawl', { url: 'https://x.example', includePaths: ['ok', '('] }, ['includePaths', 1]],
    ['/v2/crawl', { url: 'https://x.example', excludePaths: ['(?<!a)b'] }, ['excludePaths', 0]],
    ['/v2/crawl', { url: 'https://x.example', scrapeOptions: { nope: 1 } }, ['scrapeOptions']],
    ['/v2/batch/scrape', { urls: ['https://x.example', 'nope'], ignoreInvalidURLs: false }, ['urls', 1]],
    ['/v2/map', { url: 'https://x.example', limit: 0 }, ['limit']],
  ])('POST %s %j names the path', async (path, json, issuePath) => {
    const { status, body } = await post(path, json);
    expect(status).toBe(400);
    expect((body.details as { path: unknown }[])[0]!.path).toEqual(issuePath);
  });

  it('a batch without one valid URL answers 400', async () => {
    expect((await post('/v2/batch/scrape', { urls: ['nope', 'file:///etc/passwd'] })).status).toBe(400);
  });
});

describe('options', () => {
  it.each([
    ['/v2/scrape', { url: 'x.example', actions: [{ type: 'wait', milliseconds: 1 }] }, 'actions'],
    ['/v2/scrape', { url: 'x.example', formats: ['screenshot'] }, 'screenshot'],
    ['/v2/scrape', { url: 'x.example', mobile: true }, 'mobile'],
    ['/v2/scrape', { url: 'x.example', proxy: 'stealth' }, 'stealth'],
    ['/v2/crawl', { url: 'x.example', prompt: 'blog' }, 'prompt'],
    ['/v2/batch/scrape', { urls: ['x.example'], appendToId: UNKNOWN_ID }, 'appendToId'],
  ])('POST %s %j answers 501 naming the option', async (path, json, name) => {
    const { status, body } = await post(path, json);
    expect(status).toBe(501);
    expect(body).toMatchObject({ success: false, code: 'NOT_SUPPORTED', error: expect.stringContaining(name) });
  });

  it('a format beyond scope answers 400 naming it', async () => {
    const { status, body } = await post('/v2/scrape', { url: 'x.example', formats: ['audio'] });
    expect(status).toBe(400);
    expect(body.error).toContain('audio');
  });

  it.each(['redactPII', 'lockdown', 'safeMode', 'checkPromptInjection'])('%s is refused, not ignored', async (name) => {
    const { status, body } = await post('/v2/scrape', { url: 'x.example', [name]: true });
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 'BAD_REQUEST', error: expect.stringContaining(name) });
  });

  it('zero data retention answers 403', async () => {
    expect((await post('/v2/scrape', { url: 'x.example', zeroDataRetention: true })).status).toBe(403);
  });

  it.each([
    'http://10.1.2.3/',
    'http://169.254.169.254/',
    'http://0xa010203/',
    'http://[::ffff:10.1.2.3]/',
    'http://167837955/',
    'http://012.1.2.3/',
  ])('the private address %s answers 403', async (url) => {
    const { status, body } = await post('/v2/scrape', { url });
    expect({ status, code: body.code }).toEqual({ status: 403, code: 'SCRAPE_TARGET_FORBIDDEN' });
  });
});

describe('paths and ids', () => {
  it.each([
    ['GET', '/v2/scrape/xyz'],
    ['GET', '/v2/crawl/xyz'],
    ['DELETE', '/v2/crawl/xyz'],
    ['GET', '/v2/crawl/xyz/errors'],
    ['GET', '/v2/batch/scrape/xyz'],
  ])('%s %s answers 400 Invalid job ID', async (method, path) => {
    const { status, body } = await call(path, { method });
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'Invalid job ID' });
  });

  it.each(['/v2/crawl/', '/v2/batch/scrape/'])('an unknown id under %s answers 404', async (path) => {
    const { status, body } = await call(path + UNKNOWN_ID);
    expect({ status, body }).toEqual({ status: 404, body: { success: false, error: 'Job not found' } });
  });

  it('an unknown path answers 404 in JSON', async () => {
    const { status, body } = await call('/v2/nothing/here');
    expect({ status, body }).toEqual({ status: 404, body: { success: false, error: 'Not found' } });
  });

  it.each(['/v1/scrape', '/v2/extract', '/v2/search', '/v2/agent', '/v2/parse', '/v2/crawl/params-preview'])(
    'POST %s answers 501 to those with a key',
    async (path) => {
      expect(await post(path, {})).toMatchObject({ status: 501, body: { success: false, code: 'NOT_SUPPORTED' } });
      expect((await call(path, { raw: '{}', headers: { authorization: '' } })).status).toBe(401);
    },
  );

  it('v0 answers 410', async () => {
    expect((await post('/v0/scrape', {})).status).toBe(410);
  });

  it('active crawls are not taken for an id', async () => {
    for (const path of ['/v2/crawl/active', '/v2/crawl/ongoing']) {
      expect(await call(path)).toMatchObject({ status: 200, body: { success: true, crawls: expect.any(Array) } });
    }
  });

  it('any origin may call, and a preflight needs no key', async () => {
    const { status, headers } = await call('/v2/scrape', {
      method: 'OPTIONS',
      headers: { authorization: '', origin: 'https://app.example' },
    });
    expect([200, 204]).toContain(status);
    expect(headers.get('access-control-allow-origin')).toBe('*');
  });
});
