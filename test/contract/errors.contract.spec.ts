/** docs/api/errors.md and the conventions of docs/api/README.md, row by row. Nothing in here fetches a page. */
import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { api, call, post, useGateway } from './api.js';

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
    ['Basic dXNlcjpwYXNz', 'Unauthorized'],
  ])('the header %j answers 401 %s', async (authorization, error) => {
    for (const path of ['/v2/crawl/active', '/v1/crawl/active', `/v1/scrape/${UNKNOWN_ID}`]) {
      const { status, body } = await call(path, { headers: { authorization } });
      expect({ status, body }).toEqual({ status: 401, body: { success: false, error } });
    }
  });

  it('takes the scheme in any case', async () => {
    expect((await call('/v1/crawl/active', { headers: { authorization: `bearer ${api().key}` } })).status).toBe(200);
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

  it.each([
    ['null', 'null'],
    ['[]', 'array'],
    ['5', 'number'],
    ['"text"', 'string'],
  ])('%s is no body', async (raw, received) => {
    for (const path of ['/v2/scrape', '/v1/scrape', '/v1/crawl', '/v1/batch/scrape', '/v1/map']) {
      const { status, body } = await call(path, { raw });
      expect(status).toBe(400);
      expect(body.details).toEqual([expect.objectContaining({ code: 'invalid_type', expected: 'object', received })]);
    }
  });

  it('a missing body is a missing object', async () => {
    expect(await call('/v1/scrape', { method: 'POST' })).toMatchObject({
      status: 400,
      body: { success: false, code: 'BAD_REQUEST', details: [{ code: 'invalid_type', path: [], message: 'Required' }] },
    });
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
  it('a format beyond scope answers 501 naming it', async () => {
    const { status, body } = await post('/v2/scrape', { url: 'x.example', formats: ['audio'] });
    expect({ status, code: body.code, error: body.error }).toEqual({
      status: 501,
      code: 'NOT_SUPPORTED',
      error: 'Format audio is not supported by this version',
    });
  });

  it.each(['redactPII', 'lockdown', 'safeMode', 'checkPromptInjection', 'profile'])(
    '%s answers 501 naming it, not silence',
    async (name) => {
      const { status, body } = await post('/v2/scrape', { url: 'x.example', [name]: true });
      expect(status).toBe(501);
      expect(body).toMatchObject({ code: 'NOT_SUPPORTED', error: `${name} is not supported by this version` });
    },
  );

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

const ID_PATHS = [
  'GET /v2/scrape/{id}',
  'GET /v1/scrape/{id}',
  ...['/v2/crawl', '/v2/batch/scrape', '/v1/crawl', '/v1/batch/scrape'].flatMap((path) => [
    `GET ${path}/{id}`,
    `DELETE ${path}/{id}`,
    `GET ${path}/{id}/errors`,
  ]),
  'DELETE /v1/crawl/{id}/errors',
  'DELETE /v1/batch/scrape/{id}/errors',
];

/** docs/api/beyond.md and docs/api/v1.md. */
const NOT_OFFERED = [
  `GET /v2/agent/${UNKNOWN_ID}/trace`,
  `GET /v2/agent/${UNKNOWN_ID}/snapshots/1`,
  `GET /v2/agent/threads/${UNKNOWN_ID}`,
  'POST /v2/parse',
  'GET /v2/parse/formats',
  `POST /v2/scrape/${UNKNOWN_ID}/interact`,
  `DELETE /v2/scrape/${UNKNOWN_ID}/interact`,
  'POST /v2/browser',
  'GET /v2/browser?status=active',
  `POST /v2/browser/${UNKNOWN_ID}/execute`,
  `DELETE /v2/browser/${UNKNOWN_ID}`,
  'POST /v2/interact',
  `DELETE /v2/interact/${UNKNOWN_ID}`,
  'POST /v2/monitor',
  'GET /v2/monitor',
  'PATCH /v2/monitor/x',
  'POST /v2/monitor/x/run',
  'GET /v2/monitor/x/checks/y',
  'GET /v2/team/activity',
  'POST /v2/feedback',
  `POST /v2/search/${UNKNOWN_ID}/feedback`,
  'GET /v2/search/research/x',
  'GET /v2/search/developer',
  'GET /v2/search/gov',
  'GET /v2/exchange',
  'GET /v2/exchange/x',
  'POST /v1/llmstxt',
  `GET /v1/llmstxt/${UNKNOWN_ID}`,
  'POST /v1/deep-research',
  `GET /v1/deep-research/${UNKNOWN_ID}`,
  'POST /v2/llmstxt',
  `GET /v2/llmstxt/${UNKNOWN_ID}`,
  'POST /v2/deep-research',
  `GET /v2/deep-research/${UNKNOWN_ID}`,
  'POST /v2/support/ask',
  'POST /v2/support/docs-search',
  'PUT /v2/team/threat-protection',
  'GET /v2/mcp/action-logs',
  'GET /v2/keyless/eligibility',
];

describe('paths and ids', () => {
  it.each(ID_PATHS)('%s answers 400 to a bad id and 404 to an unknown one', async (line) => {
    const [method, path] = line.split(' ') as [string, string];
    const bad = await call(path.replace('{id}', 'xyz'), { method });
    expect({ status: bad.status, body: bad.body }).toEqual({
      status: 400,
      body: { success: false, error: 'Invalid job ID' },
    });
    const unknown = await call(path.replace('{id}', UNKNOWN_ID), { method });
    const error = path.endsWith('/scrape/{id}') && !path.includes('batch') ? 'Job not found.' : 'Job not found';
    expect({ status: unknown.status, body: unknown.body }).toEqual({ status: 404, body: { success: false, error } });
  });

  it.each(['skip=-1', 'skip=x', 'skip=1.5', 'limit=0', 'limit=', 'skip=0&skip=1'])(
    'the query %s of a status is refused',
    async (query) => {
      for (const path of ['/v2/crawl', '/v2/batch/scrape', '/v1/crawl', '/v1/batch/scrape']) {
        const { status, body } = await call(`${path}/${UNKNOWN_ID}?${query}`);
        expect({ status, code: body.code }).toEqual({ status: 400, code: 'BAD_REQUEST' });
      }
    },
  );

  it.each([
    'GET /nothing',
    'GET /v2/nothing/here',
    'GET /v1/nothing',
    'GET /v3/scrape',
    'GET /v2/scrape',
    'PUT /v2/crawl',
    'DELETE /v1/map',
    'POST /v1/crawl/params-preview',
  ])('%s answers 404 in JSON', async (line) => {
    const [method, path] = line.split(' ') as [string, string];
    const { status, body } = await call(path, { method });
    expect({ status, body }).toEqual({ status: 404, body: { success: false, error: 'Not found' } });
  });

  it.each(NOT_OFFERED)('%s answers 501 to those with a key', async (line) => {
    const [method, path] = line.split(' ') as [string, string];
    const json = method === 'POST' || method === 'PATCH' ? {} : undefined;
    expect(await call(path, { method, json })).toMatchObject({
      status: 501,
      body: {
        success: false,
        code: 'NOT_SUPPORTED',
        error: `${line.replace(/\?.*/, '')} is not supported by this version`,
      },
    });
    expect((await call(path, { method, json, headers: { authorization: '' } })).status).toBe(401);
  });

  it('agents need a model, and there are none without', async () => {
    expect(await post('/v2/agent', { prompt: 'x' })).toMatchObject({ status: 501, body: { code: 'NOT_SUPPORTED' } });
    for (const method of ['GET', 'DELETE']) {
      const { status, body } = await call(`/v2/agent/${UNKNOWN_ID}`, { method });
      expect({ status, body }).toEqual({ status: 404, body: { success: false, error: 'Agent job not found' } });
    }
    expect((await call('/v2/agent')).body).toEqual({ success: true, agents: [] });
  });

  it('a file for /v2/parse is not refused for being no JSON', async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    const raw = '--x\r\nContent-Disposition: form-data; name="options"\r\n\r\n{}\r\n--x--\r\n';
    expect(await call('/v2/parse', { raw, headers })).toMatchObject({ status: 501, body: { code: 'NOT_SUPPORTED' } });
    const large = `${raw}${' '.repeat(20_000_000)}`;
    expect(await call('/v2/parse', { raw: large, headers })).toMatchObject({ status: 501 });
  });

  it.each(['GET', 'DELETE'])('a body of a %s is ignored, whatever it is', async (method) => {
    const bodies = ['{"integration":"n8n"}', '{"broken":', '', 'x'.repeat(11_000_000)];
    for (const body of bodies) {
      for (const type of ['application/json', 'text/plain', undefined]) {
        const answer = await sendWithBody(method, `/v2/crawl/${UNKNOWN_ID}`, { body, type });
        expect(answer).toEqual({ status: 404, body: { success: false, error: 'Job not found' } });
      }
    }
  });

  it('a POST may have neither a body nor a content type', async () => {
    for (const [path, status] of [
      ['/v2/monitor/x/run', 501],
      [`/v2/crawl/${UNKNOWN_ID}/pause`, 404],
      ['/v2/scrape', 400],
    ] as const) {
      expect(await sendWithBody('POST', path, { body: '' })).toMatchObject({ status, body: { success: false } });
    }
  });

  it.each(['/v0', '/v0/scrape', '/v0/crawl/status/x'])('%s answers 410 in JSON, without a key too', async (path) => {
    for (const options of [{}, { json: {} }, { method: 'DELETE', headers: { authorization: '' } }]) {
      const { status, body } = await call(path, options);
      expect({ status, body }).toEqual({ status: 410, body: { success: false, error: expect.any(String) } });
    }
  });

  it('active crawls are not taken for an id', async () => {
    for (const path of ['/v2/crawl/active', '/v2/crawl/ongoing', '/v1/crawl/active', '/v1/crawl/ongoing']) {
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

/** `fetch` sends no body with a GET; some clients do. */
async function sendWithBody(method: string, path: string, { body, type }: { body: string; type?: string }) {
  const headers = {
    authorization: `Bearer ${api().key}`,
    'content-length': Buffer.byteLength(body),
    ...(type === undefined ? {} : { 'content-type': type }),
  };
  const request = http.request(api().url + path, { method, headers });
  request.on('error', () => undefined).end(body);
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  return { status: answer.statusCode, body: JSON.parse(await text(answer)) as object };
}
