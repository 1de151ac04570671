import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';
import { type Accounts } from '../auth/accounts.js';
import { Admission } from '../auth/admission.js';
import { ApiError } from '../errors/api-error.js';
import { ApiExceptionFilter } from '../errors/api-exception.filter.js';
import { CALLER, JOB_ID, JobFixture } from '../jobs/job.fixture.js';
import { StatusLane } from './status-lane.js';
import { StatusSender } from './v2/status-sender.js';

let job: JobFixture;
let server: Server;
let admitted: string[];
let limit: number;

const accounts = {
  needsKey: true,
  identify(key: string | null) {
    if (key !== 'key') throw new ApiError(401, 'Unauthorized: Invalid token');
    return CALLER;
  },
} as Pick<Accounts, 'identify' | 'needsKey'>;
const rateLimits = {
  admit(_caller: unknown, group: string) {
    if (admitted.length === limit) throw new ApiError(429, 'Rate limit exceeded', { retryAfterS: 7 });
    admitted.push(group);
  },
};

beforeEach(async () => {
  job = new JobFixture();
  job.results = 1;
  job.status = 'completed';
  admitted = [];
  limit = 10;
  const lane = new StatusLane(
    new Admission(accounts, rateLimits),
    new StatusSender(job.service, {} as never),
    new ApiExceptionFilter({ error: () => undefined } as never),
  );
  server = createServer((raw, response) => {
    const { pathname, searchParams } = new URL(raw.url!, 'http://x');
    const request = Object.assign(raw, {
      path: pathname,
      query: Object.fromEntries(searchParams),
      accepts: () => (raw.headers.accept === 'application/x-ndjson' ? 'application/x-ndjson' : 'json'),
    }) as unknown as Request;
    const answer = Object.assign(response, {
      status: (code: number) => Object.assign(answer, { statusCode: code }),
      json: (body: object) => response.end(JSON.stringify(body)),
    }) as unknown as Response;
    lane.handle(request, answer, () => response.writeHead(299).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  job.feeds.close();
  server.closeAllConnections();
  server.close();
});

const BEARER = { authorization: 'Bearer key' };

async function ask(path: string, init: RequestInit = {}) {
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: BEARER, ...init });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

describe('the lane of status requests', () => {
  it.each(['v1/crawl', 'v1/batch/scrape', 'v2/crawl', 'v2/batch/scrape'])('answers for %s', async (path) => {
    const { status, text } = await ask(`/${path}/${JOB_ID}`);
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ status: 'completed', data: [{ markdown: 'page 0' }] });
    expect(admitted).toEqual(['crawlStatus']);
  });

  it('knows lines in v2 only', async () => {
    const init = { headers: { ...BEARER, accept: 'application/x-ndjson' } };
    expect((await ask(`/v2/crawl/${JOB_ID}`, init)).text.split('\n')).toHaveLength(3);
    expect(JSON.parse((await ask(`/v1/crawl/${JOB_ID}`, init)).text)).toMatchObject({ success: true });
  });

  it.each([
    ['/v2/crawl/active'],
    [`/v2/crawl/${JOB_ID.toUpperCase()}`],
    [`/v2/crawl/${JOB_ID}/`],
    [`/v2/crawl/${JOB_ID}/errors`],
    [`/v2/extract/${JOB_ID}`],
    ['/v2/crawl/no-id'],
    [`/v2/crawl/${JOB_ID}`, { method: 'DELETE' }],
    [`/v2/crawl/${JOB_ID}`, { method: 'HEAD' }],
  ])('lets %s %j pass', async (path, init: RequestInit = {}) => {
    expect((await ask(path, init)).status).toBe(299);
    expect(admitted).toEqual([]);
  });

  it('asks first who calls, then how often, then for the job', async () => {
    limit = 0;
    const unknown = '/v2/crawl/00000000-0000-4000-8000-000000000000';
    expect(await ask(unknown, { headers: { authorization: 'Bearer other' } })).toMatchObject({
      status: 401,
      text: '{"success":false,"error":"Unauthorized: Invalid token"}',
    });
    const refused = await ask(unknown);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '7']);
    limit = 10;
    expect(await ask(unknown)).toMatchObject({ status: 404, text: '{"success":false,"error":"Job not found"}' });
  });
});
