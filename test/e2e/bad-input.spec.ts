/** Acceptance "Bad input": whatever callers and sites send has a precise answer, and the cluster is well afterwards. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { ApiClient, type Answer } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { ATTEMPTS, attackerPage } from './attacker-page.fixture.js';
import { page, SECRET, startBadSite, type BadSite, type Misbehaviour } from './bad-site.fixture.js';
import { pidsOf, readinessOf, residentMb, settledMb } from './wellbeing.fixture.js';

const SETUP_TIMEOUT_MS = 120_000;
/** The browser's first start on a busy machine takes this long. */
const PATIENT_MS = 60_000;
const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';

let site: BadSite;
let cluster: TestCluster;
let api: ApiClient;
let stranger: ApiClient;
let pids: Record<string, number | null>;
let calmMb: number;

interface PageData {
  markdown?: string;
  rawHtml?: string;
  links?: string[];
  metadata: { url: string; sourceURL: string; statusCode: number; scrapeId: string };
}

interface JobStatus {
  status: string;
  total: number;
  completed: number;
  data: PageData[];
}

interface Problems {
  errors: { url: string; code: string; error: string }[];
  robotsBlocked: string[];
}

const scrape = (url: string, options: object = {}): Promise<Answer> => api.post('/v2/scrape', { url, ...options });
const dataOf = (answer: Answer): PageData => answer.body.data as PageData;
const verdictOf = ({ status, body }: Answer) => ({ status, code: body.code ?? (body.success === true ? 'ok' : null) });

async function runJob(path: string, body: object): Promise<{ job: string; status: JobStatus; problems: Problems }> {
  const started = await api.post(path, body);
  expect(started).toMatchObject({ status: 200, body: { success: true } });
  const job = `${path}/${started.body.id as string}`;
  const status = await api.finished<JobStatus>(job, 150_000);
  return { job, status, problems: (await api.call(`${job}/errors`)).body as unknown as Problems };
}

const SITEMAP_HEAD = '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">';
const LAUGHS = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">${'bcdefghij'
  .split('')
  .map((name, n) => `<!ENTITY ${name} "${`&${'abcdefghi'[n]};`.repeat(10)}">`)
  .join('')}]>`;
const loc = (path: string): string => `<url><loc>${path}</loc></url>`;

/** Sitemap files of one host; each breaks in its own way. */
const SITEMAPS: Record<string, (origin: string) => { body: string | Buffer; headers?: Record<string, string> }> = {
  '/good.xml': (origin) => ({ body: `${SITEMAP_HEAD}${loc(`${origin}/from-good`)}</urlset>` }),
  '/cut.xml': (origin) => ({ body: `${SITEMAP_HEAD}${loc(`${origin}/from-cut`)}<url><loc>${origin}/lo` }),
  '/garbage.xml': () => ({ body: Buffer.alloc(20_000, 0xfe) }),
  '/page.xml': () => ({ body: page('a web page', ''), headers: { 'content-type': 'text/html' } }),
  '/laughs.xml': (origin) => ({
    body: `${LAUGHS}<urlset>${loc(`${origin}/&j;`)}${loc(`${origin}/from-laughs`)}</urlset>`,
  }),
  '/bomb.xml.gz': () => ({
    body: Buffer.concat(Array.from({ length: 8 }, () => gzipSync(Buffer.alloc(16_000_000, ' ')))),
  }),
  '/cut.xml.gz': (origin) => ({
    body: gzipSync(`${SITEMAP_HEAD}${loc(`${origin}/x`).repeat(5000)}</urlset>`).subarray(0, 60),
  }),
  '/index.xml': (origin) => ({
    body: `<sitemapindex><sitemap><loc>${origin}/index.xml</loc></sitemap><sitemap><loc>${origin}/missing.xml</loc></sitemap><sitemap><loc>file:///etc/passwd</loc></sitemap></sitemapindex>`,
  }),
  '/huge.xml': (origin) => ({ body: SITEMAP_HEAD + loc(`${origin}/from-huge`).repeat(1_200_000) }),
  '/odd.xml': (origin) => ({
    body: `${SITEMAP_HEAD}${['javascript:x', 'ftp://x.test/', 'file:///etc/passwd', 'http://', 'x'.repeat(9000), '/relative', `${origin}/from-odd`].map(loc).join('')}</urlset>`,
  }),
};

const EXTRA: Record<string, Misbehaviour> = {
  'robots-sitemaps': (request, response, { url }) => {
    const origin = url('robots-sitemaps', '');
    const inside = `http://127.0.0.1:${site.forbiddenPort}/sitemap.xml`;
    const robots = [...Object.keys(SITEMAPS).map((path) => origin + path), inside].map((file) => `Sitemap: ${file}\n`);
    if (request.url === '/robots.txt')
      return void response.writeHead(200, { 'content-type': 'text/plain' }).end(robots.join(''));
    const file = SITEMAPS[request.url ?? '']?.(origin);
    if (file !== undefined)
      return void response.writeHead(200, { 'content-type': 'application/xml', ...file.headers }).end(file.body);
    if (request.url === '/missing.xml') return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/html' }).end(page(`page ${request.url}`, ''));
  },
  'robots-garbage': (request, response) => {
    const isRobots = request.url === '/robots.txt';
    response.writeHead(200, { 'content-type': isRobots ? 'text/plain' : 'text/html' });
    response.end(isRobots ? Buffer.alloc(300_000, 0x80) : page('behind garbage', ''));
  },
  'robots-endless': (request, response) => {
    if (request.url !== '/robots.txt')
      return void response.writeHead(200, { 'content-type': 'text/html' }).end(page('behind', ''));
    response.writeHead(200, { 'content-type': 'text/plain' });
    const write = (): void =>
      void (
        response.destroyed ||
        (response.write('User-agent: *\n'.repeat(5000)) ? setImmediate(write) : response.once('drain', write))
      );
    write();
  },
  'long-paths': (request, response) => {
    const links = Array.from({ length: 60 }, (_, n) => `<a href="/${'a'.repeat(1500)}!${n}">long ${n}</a>`).join(' ');
    response.writeHead(200, { 'content-type': 'text/html' }).end(page('long paths', request.url === '/' ? links : ''));
  },
  attacker: (request, response, { port, forbiddenPort, udp }) => {
    response.setHeader('content-type', 'text/html');
    if (request.url === '/control') return void response.end('fine');
    if (request.url === '/worker.js') return void response.setHeader('content-type', 'text/javascript').end('');
    const forbidden = [`127.0.0.1:${forbiddenPort}`, `127.0.0.2:${port}`, `inside.bad.test:${port}`];
    response.end(attackerPage({ forbidden, udpPort: udp.port, redirector: '/go' }));
  },
  'script-redirect': (_request, response, { forbiddenPort }) =>
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(page('leaving', `<script>location.href = 'http://127.0.0.1:${forbiddenPort}/'</script>`)),
  rebind: (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html', connection: 'close' }).end(page('rebound', '')),
  'rebind-browser': (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html', connection: 'close' }).end(
      page(
        'rebound in the browser',
        `<p id="log"></p><script>
          const tell = (text) => (document.getElementById('log').textContent = text);
          setTimeout(() => fetch('/again').then((a) => a.text()).then((text) => tell('second: ' + text), () => tell('second: failed')), 1500);
        </script>`,
      ),
    ),
};

beforeAll(async () => {
  site = await startBadSite(EXTRA);
  Object.assign(site.zone, {
    'inside.bad.test': ['127.0.0.2'],
    'both.bad.test': ['127.0.0.2', '127.0.0.1'],
    'rebind.bad.test': (asked: number) => [asked === 1 ? '127.0.0.1' : '127.0.0.2'],
    'rebind-browser.bad.test': (asked: number) => [asked === 1 ? '127.0.0.1' : '127.0.0.2'],
  });
  cluster = await startCluster({
    args: ['--converters', '1'],
    env: {
      ALLOW_PRIVATE_TARGETS: site.allowed,
      DNS_SERVERS: site.dns.address,
      TROUPE_BOOTSTRAP_KEYS: 'own:fc-key-of-our-team,other:fc-key-of-another-team',
      HOST_GAP_MS: '0',
      TEAM_CONCURRENCY: '20',
    },
  });
  api = new ApiClient(cluster.url, 'fc-key-of-our-team');
  stranger = new ApiClient(cluster.url, 'fc-key-of-another-team');
  expect(verdictOf(await scrape(site.url('fine')))).toEqual({ status: 200, code: 'ok' });
  // The browser's modules are loaded now, so that they do not count as growth.
  await scrape(site.url('fine', '/in-the-browser'), { waitFor: 1, timeout: PATIENT_MS });
  pids = await pidsOf(cluster);
  calmMb = await residentMb(cluster, 'fetcher');
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await cluster?.stop();
  await site?.close();
}, SETUP_TIMEOUT_MS);

describe('a request', () => {
  const PATHS = ['/v2/scrape', '/v2/crawl', '/v2/batch/scrape', '/v2/map'];

  it.each(PATHS)('to %s with malformed JSON is refused with its code', async (path) => {
    for (const raw of ['{"url":', '{url:1}', 'nonsense', '{"url":"x.test"}}', '\u0000', '']) {
      const { status, body } = await api.call(path, { raw, method: 'POST' });
      expect([raw, status]).toEqual([raw, 400]);
      expect(body).toMatchObject({ success: false, error: expect.any(String) });
    }
  });

  it.each(PATHS)('to %s of 11 MB is refused with 413', async (path) => {
    const { status, body } = await api.call(path, { raw: JSON.stringify({ url: 'a'.repeat(11_000_000) }) });
    expect(status).toBe(413);
    expect(body).toMatchObject({ success: false, error: expect.any(String) });
  });

  it.each(PATHS)('to %s that is nested a hundred thousand levels deep is refused', async (path) => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const deep = open.repeat(100_000) + (open === '[' ? '' : '1') + close.repeat(100_000);
      const { status, body } = await api.call(path, { raw: `{"url":"x.test","urls":["x.test"],"headers":${deep}}` });
      expect(status).toBe(400);
      expect(body.success).toBe(false);
    }
  });

  it.each([
    ['/v2/scrape', { url: 5 }, ['url']],
    ['/v2/scrape', { url: 'x.test', formats: 'markdown' }, ['formats']],
    ['/v2/scrape', { url: 'x.test', formats: [7] }, ['formats', 0]],
    ['/v2/scrape', { url: 'x.test', timeout: '30' }, ['timeout']],
    ['/v2/scrape', { url: 'x.test', headers: { a: 1 } }, ['headers', 'a']],
    ['/v2/scrape', { url: 'x.test', headers: { a: 'b\r\nhost: evil' } }, ['headers', 'a']],
    ['/v2/scrape', { url: 'x.test', includeTags: 'p' }, ['includeTags']],
    ['/v2/scrape', { url: 'x.test', includeTags: [{}] }, ['includeTags', 0]],
    ['/v2/scrape', { url: 'x.test', location: { country: 3 } }, ['location', 'country']],
    ['/v2/scrape', { url: 'x.test', waitFor: 1.5 }, ['waitFor']],
    ['/v2/crawl', { url: 'x.test', limit: '10' }, ['limit']],
    ['/v2/crawl', { url: 'x.test', scrapeOptions: [] }, ['scrapeOptions']],
    ['/v2/crawl', { url: 'x.test', scrapeOptions: { timeout: true } }, ['scrapeOptions', 'timeout']],
    ['/v2/crawl', { url: 'x.test', includePaths: 'a' }, ['includePaths']],
    ['/v2/batch/scrape', { urls: 'x.test' }, ['urls']],
    ['/v2/batch/scrape', { urls: ['x.test', 5] }, ['urls', 1]],
    ['/v2/batch/scrape', { urls: [] }, ['urls']],
    ['/v2/map', { url: 'x.test', limit: 1e300 }, ['limit']],
  ])('to %s with the wrong type in %j names the place', async (path, json, place) => {
    const { status, body } = await api.post(path, json);
    expect(status).toBe(400);
    expect(body).toMatchObject({ success: false, code: 'BAD_REQUEST' });
    expect((body.details as { path: unknown }[]).map((issue) => issue.path)).toContainEqual(place);
  });

  it.each([
    ['/v2/scrape', { url: 'x.test', formatz: 1 }, [], 'formatz'],
    ['/v2/scrape', { url: 'x.test', formats: [{ type: 'markdown', nope: 1 }] }, ['formats', 0], 'nope'],
    ['/v2/scrape', { url: 'x.test', location: { nope: 1 } }, ['location'], 'nope'],
    ['/v2/scrape', { url: 'x.test', parsers: [{ type: 'pdf', nope: 1 }] }, ['parsers', 0], 'nope'],
    ['/v2/scrape', { url: 'x.test', constructor: 1 }, [], 'constructor'],
    ['/v2/crawl', { url: 'x.test', nope: 1 }, [], 'nope'],
    ['/v2/crawl', { url: 'x.test', scrapeOptions: { nope: 1 } }, ['scrapeOptions'], 'nope'],
    ['/v2/crawl', { url: 'x.test', scrapeOptions: { location: { nope: 1 } } }, ['scrapeOptions', 'location'], 'nope'],
    ['/v2/batch/scrape', { urls: ['x.test'], nope: 1 }, [], 'nope'],
    ['/v2/map', { url: 'x.test', scrapeOptions: {} }, [], 'scrapeOptions'],
  ])('to %s with an unknown key in %j names it', async (path, json, place, key) => {
    const { status, body } = await api.post(path, json);
    expect(status).toBe(400);
    expect(body.details).toContainEqual(
      expect.objectContaining({ code: 'unrecognized_keys', keys: [key], path: place }),
    );
  });

  it('with __proto__ in it changes nothing for later requests', async () => {
    const { status } = await api.call('/v2/scrape', {
      raw: '{"url":"nope","__proto__":{"url":"x.test","polluted":1}}',
    });
    expect(status).toBe(400);
    expect(verdictOf(await scrape(site.url('fine')))).toEqual({ status: 200, code: 'ok' });
  });

  it.each(['(', '[z-a]', '*a', 'a{9999}', '(?<=a)b', '(a)\\1', 'a'.repeat(2001)])(
    'with the bad pattern %s is refused at its place',
    async (pattern) => {
      const include = await api.post('/v2/crawl', { url: 'x.test', includePaths: ['ok', pattern] });
      expect(include.body.details).toContainEqual(expect.objectContaining({ path: ['includePaths', 1] }));
      const exclude = await api.post('/v2/map', { url: 'x.test', excludePaths: [pattern] });
      expect(exclude.body.details).toContainEqual(expect.objectContaining({ path: ['excludePaths', 0] }));
      expect([include.status, exclude.status]).toEqual([400, 400]);
    },
  );
});

describe('a catastrophic pattern', () => {
  it('costs a crawl nothing on long paths', async () => {
    const { status } = await runJob('/v2/crawl', {
      url: site.url('long-paths'),
      includePaths: ['^/(a+)+$', '^/(a|aa)+$', '(.*.*.*.*)*z$'],
      excludePaths: ['^/(a|a?)+$'],
      sitemap: 'skip',
    });
    expect(status).toMatchObject({ status: 'completed', total: 1 });
  });

  it('costs a map and a tag filter nothing either', async () => {
    const map = await api.post('/v2/map', { url: site.url('long-paths'), includePaths: ['^/(a+)+$'], timeout: 20_000 });
    expect(map).toMatchObject({ status: 200, body: { success: true } });
    const tags = await scrape(site.url('long-paths'), { excludeTags: ['*(a+)+$*', '*(x+x+)+y*'], timeout: 20_000 });
    expect(verdictOf(tags)).toEqual({ status: 200, code: 'ok' });
    expect(tags.ms).toBeLessThan(19_000);
  });
});

describe('the id of another team', () => {
  it('is as unknown as one that never was', async () => {
    const crawl = await api.post('/v2/crawl', { url: site.url('fine'), limit: 1 });
    const batch = await api.post('/v2/batch/scrape', { urls: [site.url('fine')] });
    const single = await scrape(site.url('fine'));
    const { data } = await api.finished<JobStatus>(`/v2/crawl/${crawl.body.id as string}`);
    await api.finished(`/v2/batch/scrape/${batch.body.id as string}`);
    await sleep(500);
    const singleId = dataOf(single).metadata.scrapeId;
    const pageId = data[0]?.metadata.scrapeId ?? '';
    const calls: [string, string, string][] = [
      ['GET', '/v2/crawl/ID', crawl.body.id as string],
      ['DELETE', '/v2/crawl/ID', crawl.body.id as string],
      ['GET', '/v2/crawl/ID/errors', crawl.body.id as string],
      ['GET', '/v2/batch/scrape/ID', batch.body.id as string],
      ['DELETE', '/v2/batch/scrape/ID', batch.body.id as string],
      ['GET', '/v2/batch/scrape/ID/errors', batch.body.id as string],
      ['GET', '/v2/scrape/ID', singleId],
      ['GET', '/v2/scrape/ID', pageId],
    ];
    for (const [method, path, id] of calls) {
      const foreign = await stranger.call(path.replace('ID', id), { method });
      const unknown = await stranger.call(path.replace('ID', UNKNOWN_ID), { method });
      expect([method, path, foreign.status, foreign.body]).toEqual([method, path, 404, unknown.body]);
    }
    expect((await stranger.call('/v2/crawl/active')).body).toMatchObject({ crawls: [] });
    for (const id of [singleId, pageId]) expect((await api.call(`/v2/scrape/${id}`)).status).toBe(200);
  });
});

describe('a forbidden address', () => {
  const spellings = (): string[] => [
    `http://127.0.0.1:${site.forbiddenPort}/`,
    `http://127.0.0.2:${site.port}/`,
    `http://2130706433:${site.forbiddenPort}/`,
    `http://0x7f000001:${site.forbiddenPort}/`,
    `http://0x7f.0.0.1:${site.forbiddenPort}/`,
    `http://0177.0.0.01:${site.forbiddenPort}/`,
    `http://127.1:${site.forbiddenPort}/`,
    `http://127.0.0.1.:${site.forbiddenPort}/`,
    `http://１２７.0.0.1:${site.forbiddenPort}/`,
    `http://[::ffff:127.0.0.1]:${site.forbiddenPort}/`,
    `http://[::ffff:7f00:1]:${site.forbiddenPort}/`,
    `http://[0:0:0:0:0:ffff:7f00:1]:${site.forbiddenPort}/`,
    `http://[::1]:${site.forbiddenPort}/`,
    `http://[::]:${site.forbiddenPort}/`,
    `http://0.0.0.0:${site.forbiddenPort}/`,
    `http://0:${site.forbiddenPort}/`,
    `http://localhost:${site.forbiddenPort}/`,
    `http://LOCALHOST.:${site.forbiddenPort}/`,
    `http://anything.localhost:${site.forbiddenPort}/`,
    `http://user:password@127.0.0.1:${site.forbiddenPort}/`,
    `https://127.0.0.1:${site.forbiddenPort}/`,
  ];
  const schemes = [
    'file:///etc/passwd',
    'ftp://127.0.0.1/',
    'gopher://127.0.0.1:70/',
    'data:text/html,x',
    'javascript:1',
  ];

  it('is refused in every spelling, by scrape, crawl, map and batch', async () => {
    const verdicts = await Promise.all(
      spellings().flatMap((url) => [
        scrape(url).then((answer) => [url, 'scrape', verdictOf(answer)]),
        api.post('/v2/crawl', { url }).then((answer) => [url, 'crawl', verdictOf(answer)]),
        api.post('/v2/map', { url }).then((answer) => [url, 'map', verdictOf(answer)]),
        api
          .post('/v2/batch/scrape', { urls: [url], ignoreInvalidURLs: false })
          .then((answer) => [url, 'batch', verdictOf(answer)]),
      ]),
    );
    const wanted = { status: 403, code: 'SCRAPE_TARGET_FORBIDDEN' };
    expect(verdicts).toEqual(verdicts.map(([url, path]) => [url, path, wanted]));
    expect(site.forbiddenHits()).toBe(0);
  });

  it('does not open by another scheme', async () => {
    for (const url of schemes) {
      for (const path of ['/v2/scrape', '/v2/crawl', '/v2/map']) {
        const { status, body } = await api.post(path, { url });
        expect([url, path, status, body.code]).toEqual([url, path, 400, 'BAD_REQUEST']);
      }
    }
  });

  it('is refused when a redirect or a refresh leads there, in every engine', async () => {
    const hops = ['redirect-to', 'refresh-to'];
    const answers = await Promise.all(
      [...spellings(), `http://inside.bad.test:${site.port}/`].flatMap((to) =>
        hops.map(async (hop) => [
          hop,
          to,
          verdictOf(await scrape(site.url(hop, `/?to=${encodeURIComponent(to)}`), { timeout: PATIENT_MS })),
        ]),
      ),
    );
    expect(answers).toEqual(answers.map(([hop, to]) => [hop, to, { status: 403, code: 'SCRAPE_TARGET_FORBIDDEN' }]));
    for (const hop of hops) {
      const url = site.url(hop, `/?to=${encodeURIComponent(`http://127.0.0.1:${site.forbiddenPort}/`)}`);
      const inBrowser = await scrape(url, { waitFor: 1, timeout: PATIENT_MS });
      expect([hop, verdictOf(inBrowser)]).toEqual([hop, { status: 403, code: 'SCRAPE_TARGET_FORBIDDEN' }]);
    }
    expect(site.forbiddenHits()).toBe(0);
  }, 120_000);

  it.each(schemes)('is not read when a redirect leads to %s', async (to) => {
    const answer = await scrape(site.url('redirect-to', `/?to=${encodeURIComponent(to)}`));
    expect(verdictOf(answer)).toEqual({ status: 403, code: 'SCRAPE_TARGET_FORBIDDEN' });
  });

  it('is refused when a name resolves to it, and left out when others are allowed', async () => {
    const inside = `http://inside.bad.test:${site.port}/`;
    expect(verdictOf(await scrape(inside))).toEqual({ status: 403, code: 'SCRAPE_TARGET_FORBIDDEN' });
    expect(verdictOf(await scrape(inside, { waitFor: 1, timeout: PATIENT_MS }))).toEqual({
      status: 403,
      code: 'SCRAPE_TARGET_FORBIDDEN',
    });
    expect(verdictOf(await api.post('/v2/map', { url: inside }))).toEqual({
      status: 403,
      code: 'SCRAPE_TARGET_FORBIDDEN',
    });
    site.url('both');
    for (let times = 0; times < 4; times++) await scrape(`http://both.bad.test:${site.port}/${times}`);
    expect(site.log.get('both.bad.test')).toHaveLength(4);
    expect(site.forbiddenHits()).toBe(0);
  }, 90_000);

  it('is refused when a name resolves to it the second time only', async () => {
    const url = `http://rebind.bad.test:${site.port}/`;
    expect(verdictOf(await scrape(url))).toEqual({ status: 200, code: 'ok' });
    await sleep(1200);
    expect(verdictOf(await scrape(url))).toEqual({ status: 403, code: 'SCRAPE_TARGET_FORBIDDEN' });
    const inBrowser = await scrape(`http://rebind-browser.bad.test:${site.port}/`, {
      waitFor: 4000,
      timeout: PATIENT_MS,
      formats: ['rawHtml'],
    });
    expect(inBrowser.status).toBe(200);
    expect(dataOf(inBrowser).rawHtml).toMatch(/second: /);
    expect(dataOf(inBrowser).rawHtml).not.toContain(SECRET);
    expect(site.dns.asked.get('rebind-browser.bad.test')).toBeGreaterThan(1);
    expect(site.forbiddenHits()).toBe(0);
  }, 90_000);

  it('is not reached from inside the browser, whatever a page tries', async () => {
    const answer = await scrape(site.url('attacker'), { waitFor: 10_000, timeout: PATIENT_MS, formats: ['rawHtml'] });
    expect(answer.status).toBe(200);
    const html = dataOf(answer).rawHtml ?? '';
    expect(html).toContain('all attempts made');
    expect(html).toMatch(/control http:[^<]*: fine/);
    for (const name of ATTEMPTS) expect(html).toContain(`<li>${name} http`);
    expect(html).not.toContain(SECRET);
    expect(html).not.toContain('root:');
    expect({ hits: site.forbiddenHits(), packets: site.udp.packets }).toEqual({ hits: 0, packets: 0 });
  }, 90_000);

  it('is not reached when a script takes the page there', async () => {
    const answer = await scrape(site.url('script-redirect'), { waitFor: 1000, timeout: PATIENT_MS });
    expect(verdictOf(answer)).toEqual({ status: 403, code: 'SCRAPE_TARGET_FORBIDDEN' });
    expect(site.forbiddenHits()).toBe(0);
  }, 90_000);

  it('includes the ports of the cluster itself', async () => {
    for (const { health } of await cluster.processes()) {
      if (health === null) continue;
      expect(verdictOf(await scrape(`${health}/health/readiness`))).toEqual({
        status: 403,
        code: 'SCRAPE_TARGET_FORBIDDEN',
      });
    }
  });
});

/** What becomes of each kind of bad page. */
interface Fate {
  code: string;
  /** Of the single scrape. */
  status: number;
  says?: RegExp;
  /** Of the document, when there is one. */
  text?: RegExp;
}

const TOO_LARGE: Fate = { code: 'SCRAPE_BODY_TOO_LARGE', status: 500 };
const TOO_MANY: Fate = { code: 'SCRAPE_TOO_MANY_REDIRECTS', status: 500 };
const EMPTY: Fate = { code: 'SCRAPE_EMPTY', status: 500 };
const BLOCKED: Fate = { code: 'SCRAPE_BLOCKED', status: 500 };
const NO_PARSER: Fate = { code: 'SCRAPE_UNSUPPORTED_FILE_ERROR', status: 500 };
const siteError = (says: RegExp): Fate => ({ code: 'SCRAPE_SITE_ERROR', status: 500, says });
const document = (text: RegExp): Fate => ({ code: 'ok', status: 200, text });

const FATES: Record<string, Fate> = {
  fine: document(/enough words/),
  empty: EMPTY,
  blank: EMPTY,
  challenge: BLOCKED,
  'soft-challenge': BLOCKED,
  'not-found': document(/gone/),
  image: NO_PARSER,
  binary: NO_PARSER,
  'binary-html': NO_PARSER,
  endless: TOO_LARGE,
  'endless-headers': siteError(/HEADERS_OVERFLOW/),
  'gzip-bomb': TOO_LARGE,
  'double-gzip-bomb': TOO_LARGE,
  'brotli-bomb': TOO_LARGE,
  'five-codings': siteError(/cannot be decoded/),
  'not-gzip': document(/enough words/),
  'cut-gzip': document(/cut/),
  'unknown-coding': siteError(/cannot be decoded .*rot13/),
  loop: TOO_MANY,
  'self-loop': TOO_MANY,
  'hops-20': document(/end of the chain/),
  'hops-21': TOO_MANY,
  'refresh-loop': TOO_MANY,
  'charset-klingon': document(/enough words/),
  'charset-invalid': document(/after/),
  'charset-lies': document(/gr.+n/),
  reset: siteError(/reset|closed/),
  hangup: siteError(/closed/),
  'not-http': siteError(/HTTPParserError|HPE_/),
  'garbage-headers': siteError(/HTTPParserError|HPE_/),
  'garbage-status': siteError(/HTTPParserError|HPE_/),
  'garbage-chunks': siteError(/HTTPParserError|HPE_/),
  'length-too-long': siteError(/closed/),
  'length-too-short': document(/enough words/),
  'length-huge': TOO_LARGE,
  'length-garbage': siteError(/HTTPParserError|HPE_/),
  'links-10000': document(/link 9999/),
  deep: document(/bottom|deep/),
  unclosed: document(/unclosed/),
  spans: document(/spans/),
  'long-attribute': document(/words/),
};
const SLOW = ['slow-body', 'slow-headers', 'silent', 'stalled'];

describe('a bad page', () => {
  it.each(Object.entries(FATES))(
    '%s, scraped',
    async (kind, fate) => {
      const answer = await scrape(site.url(kind), { timeout: PATIENT_MS });
      expect(verdictOf(answer)).toEqual({ status: fate.status, code: fate.code });
      if (fate.says) expect(answer.body.error).toMatch(fate.says);
      if (fate.text) expect(dataOf(answer).markdown).toMatch(fate.text);
    },
    70_000,
  );

  it('that never ends or never begins is given up on time', async () => {
    const answers = await Promise.all(SLOW.map((kind) => scrape(site.url(kind), { timeout: 2000 })));
    expect(answers.map(verdictOf)).toEqual(SLOW.map(() => ({ status: 408, code: 'SCRAPE_TIMEOUT' })));
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(15_000);
  });

  it('with ten thousand links lists them all', async () => {
    const { links } = dataOf(await scrape(site.url('links-10000'), { formats: ['links'] }));
    expect(links).toHaveLength(10_000);
  });

  it('behind an untrusted certificate needs skipTlsVerification', async () => {
    site.url('fine');
    const url = `https://fine.bad.test:${site.tlsPort}/`;
    expect(verdictOf(await scrape(url))).toEqual({ status: 200, code: 'ok' });
    const verified = await scrape(url, { skipTlsVerification: false, timeout: PATIENT_MS });
    expect(verdictOf(verified)).toEqual({ status: 500, code: 'SCRAPE_SSL_ERROR' });
    expect(verified.body.error).toMatch(/skipTlsVerification/);
    const inBrowser = await scrape(url, { skipTlsVerification: false, waitFor: 1, timeout: PATIENT_MS });
    expect(verdictOf(inBrowser)).toEqual({ status: 500, code: 'SCRAPE_SSL_ERROR' });
  }, 90_000);

  it('on a port that speaks no TLS is a TLS failure, on one that speaks only TLS a failure of the site', async () => {
    site.url('plain');
    const tls = await scrape(`https://plain.bad.test:${site.port}/`, { timeout: PATIENT_MS });
    expect(verdictOf(tls)).toEqual({ status: 500, code: 'SCRAPE_SSL_ERROR' });
    const plain = await scrape(`http://plain.bad.test:${site.tlsPort}/`, { timeout: PATIENT_MS });
    expect(verdictOf(plain)).toEqual({ status: 500, code: 'SCRAPE_SITE_ERROR' });
  }, 120_000);

  it('of an unknown host is HTTP 200 without success, in every engine', async () => {
    for (const options of [{}, { waitFor: 1, timeout: PATIENT_MS }]) {
      const { status, body } = await scrape('http://no-such-name.test/', options);
      expect(status).toBe(200);
      expect(body).toMatchObject({ success: false, code: 'SCRAPE_DNS_RESOLUTION_ERROR', error: expect.any(String) });
    }
  }, 90_000);

  it('of a host that refuses connections says so', async () => {
    site.url('refusing');
    const { status, body } = await scrape(`http://refusing.bad.test:${site.refusedPort}/`);
    expect(status).toBe(500);
    expect(body).toMatchObject({ code: 'SCRAPE_SITE_ERROR', error: expect.stringContaining('refused') });
  });
});

describe('bad pages in a job', () => {
  const OTHERS = (): Record<string, string> => ({
    [`https://plain.bad.test:${site.port}/`]: 'SCRAPE_SSL_ERROR',
    [`http://unknown-name.test/`]: 'SCRAPE_DNS_RESOLUTION_ERROR',
    [`http://refusing.bad.test:${site.refusedPort}/`]: 'SCRAPE_SITE_ERROR',
    [`http://inside.bad.test:${site.port}/`]: 'SCRAPE_TARGET_FORBIDDEN',
  });
  /** Left out: what needs a browser or many seconds; the single scrapes prove those. */
  const kinds = Object.keys(FATES).filter((kind) => !/bomb|endless/.test(kind) || kind === 'gzip-bomb');
  const expected = (): Record<string, string> => ({
    ...Object.fromEntries(
      kinds.filter((kind) => FATES[kind]?.code !== 'ok').map((kind) => [site.url(kind), FATES[kind]?.code ?? '']),
    ),
    ...OTHERS(),
    [site.url('silent')]: 'SCRAPE_TIMEOUT',
  });

  it('of a batch end in one coded outcome each, the others in documents', async () => {
    const wrong = expected();
    const good = kinds.filter((kind) => FATES[kind]?.code === 'ok').map((kind) => site.url(kind));
    const { status, problems } = await runJob('/v2/batch/scrape', {
      urls: [...Object.keys(wrong), ...good],
      timeout: 15_000,
    });
    expect(status).toMatchObject({ status: 'completed', total: Object.keys(wrong).length + good.length });
    expect(Object.fromEntries(problems.errors.map(({ url, code }) => [url, code]))).toEqual(wrong);
    expect(status.data.map(({ metadata }) => metadata.sourceURL).sort()).toEqual(good.sort());
    expect(status.completed).toBe(status.total);
  }, 180_000);
});

describe('a site with bad files beside its pages', () => {
  it('is crawled as far as its sitemaps can be read, and says what is wrong with them', async () => {
    const { job, status, problems } = await runJob('/v2/crawl', {
      url: site.url('robots-sitemaps'),
      sitemap: 'include',
      limit: 50,
    });
    expect(status.status).toBe('completed');
    const paths = status.data.map(({ metadata }) => new URL(metadata.url).pathname).sort();
    expect(paths).toEqual(expect.arrayContaining(['/', '/from-good', '/from-cut', '/from-odd']));
    expect(paths).not.toContain('/relative');
    const { body: ledger } = await api.call(`${job}/ledger?outcome=out_of_scope&limit=1000`);
    expect(ledger.urls).toContainEqual(expect.objectContaining({ url: '/relative', rule: 'scheme' }));
    expect(new Set(problems.errors.map(({ code }) => code))).toEqual(new Set(['SCRAPE_SITEMAP_ERROR']));
    const told = problems.errors.map(({ error }) => error).join('\n');
    for (const file of ['/page.xml', '/bomb.xml.gz', '/cut.xml.gz', '/missing.xml', '/huge.xml'])
      expect(told).toContain(file);
    expect(site.forbiddenHits()).toBe(0);
  }, 180_000);

  it('is mapped all the same', async () => {
    const { status, body } = await api.post('/v2/map', {
      url: site.url('robots-sitemaps'),
      timeout: 60_000,
      limit: 1000,
    });
    expect(status).toBe(200);
    const urls = (body.links as { url: string }[]).map(({ url }) => new URL(url).pathname);
    expect(urls).toEqual(expect.arrayContaining(['/from-good', '/from-odd']));
    expect(urls.length).toBeLessThan(30);
    expect(body.warning).toMatch(/no absolute http/);
  }, 90_000);

  it.each(['robots-garbage', 'robots-endless'])(
    'is crawled behind the robots.txt of %s',
    async (kind) => {
      const { status, problems } = await runJob('/v2/crawl', { url: site.url(kind), sitemap: 'skip', limit: 3 });
      expect({
        status: status.status,
        pages: status.data.length,
        errors: problems.errors.map(({ code }) => code),
      }).toEqual(
        kind === 'robots-garbage'
          ? { status: 'completed', pages: 1, errors: [] }
          : { status: 'failed', pages: 0, errors: ['SCRAPE_BODY_TOO_LARGE'] },
      );
    },
    120_000,
  );

  it('with ten thousand links is crawled up to its limit', async () => {
    const { status } = await runJob('/v2/crawl', {
      url: site.url('links-10000'),
      sitemap: 'skip',
      limit: 25,
      scrapeOptions: { formats: ['links'] },
    });
    expect(status).toMatchObject({ status: 'completed', total: 25, completed: 25 });
    expect(new Set(status.data.map(({ metadata }) => metadata.url)).size).toBe(25);
  }, 120_000);

  it('that cannot be reached at all fails its crawl and its map with a code', async () => {
    site.url('refusing');
    const url = `http://refusing.bad.test:${site.refusedPort}/elsewhere`;
    const { status, problems } = await runJob('/v2/crawl', { url, limit: 5 });
    expect(status.status).toBe('failed');
    expect(problems.errors.map(({ code }) => code)).toContain('SCRAPE_SITE_ERROR');
    expect(verdictOf(await api.post('/v2/map', { url }))).toEqual({ status: 500, code: 'MAP_FAILED' });
    expect(verdictOf(await api.post('/v2/map', { url: site.url('silent'), timeout: 2000 }))).toEqual({
      status: 408,
      code: 'MAP_TIMEOUT',
    });
  }, 180_000);
});

describe('afterwards', () => {
  it('every process is the one that was started, and ready', async () => {
    expect(await pidsOf(cluster)).toEqual(pids);
    const readiness = await readinessOf(cluster);
    expect(readiness).toEqual(Object.fromEntries(Object.keys(readiness).map((name) => [name, '200 ok'])));
    expect(Object.keys(readiness)).toEqual(expect.arrayContaining(['gateway', 'scheduler', 'fetcher', 'converter']));
  });

  it('a normal scrape and a normal crawl work', async () => {
    expect(verdictOf(await scrape(site.url('fine')))).toEqual({ status: 200, code: 'ok' });
    expect((await runJob('/v2/crawl', { url: site.url('fine'), limit: 2 })).status).toMatchObject({
      status: 'completed',
      completed: 1,
    });
  }, 60_000);

  it('the fetcher has given back the memory of the bombs', async () => {
    const limitMb = calmMb + 400;
    expect(await settledMb(cluster, 'fetcher', limitMb)).toBeLessThanOrEqual(limitMb);
  });

  it('nobody has reached a forbidden address', () => {
    expect({ hits: site.forbiddenHits(), packets: site.udp.packets }).toEqual({ hits: 0, packets: 0 });
  });
});
