/** Pages as a person would see them: device, place, languages, headers, frames and files, through the whole cluster. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { browsersHere, type Handler, type Site, startSite } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { FORMATS_CLUSTER, startStage, type Stage } from '../support/shared-stage.js';

const SETUP_TIMEOUT_MS = 120_000;
/** The browser's first start on a busy machine takes this long. */
const PATIENT_MS = 60_000;
const TEST_MS = 90_000;
const withBrowser = browsersHere === null ? describe.skip : describe;

let site: Site;
let other: Site;
let stage: Stage;
let api: ApiClient;
let routes: Record<string, Handler> = {};

interface PageData {
  markdown: string;
  rawHtml: string;
  links: string[];
  metadata: { url: string; statusCode: number; timezone?: string };
}

/** What a page can learn of its reader. */
interface Saw {
  width: number;
  height: number;
  ratio: number;
  touch: number;
  agent: string;
  platform: string;
  hints: { mobile: boolean; platform: string; model: string };
  language: string;
  languages: string[];
  timezone: string;
  place: [number, number] | null;
  /** Headers of a request that the page's script made. */
  sent: Record<string, string>;
}

/** Written as base64 into an element, so that nothing on the way can change it. */
const ECHO = `<!doctype html><html><head><meta name="viewport" content="width=device-width"></head><body><h1>Echo</h1><p id="saw"></p><script>
(async () => {
  const place = await new Promise((done) => navigator.geolocation.getCurrentPosition(
    ({ coords }) => done([coords.latitude, coords.longitude]), () => done(null), { timeout: 3000 }));
  const { model } = await navigator.userAgentData.getHighEntropyValues(['model']);
  const saw = { width: innerWidth, height: innerHeight, ratio: devicePixelRatio, touch: navigator.maxTouchPoints,
    agent: navigator.userAgent, platform: navigator.platform,
    hints: { mobile: navigator.userAgentData.mobile, platform: navigator.userAgentData.platform, model },
    language: navigator.language, languages: navigator.languages, place,
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone, sent: await (await fetch('/sent')).json() };
  document.getElementById('saw').textContent = btoa(JSON.stringify(saw));
})();
</script></body></html>`;

const html = (route: string, body: string): void => {
  routes[route] = (_request, response) => response.setHeader('content-type', 'text/html; charset=utf-8').end(body);
};
const handle: Handler = (request, response) => {
  response.setHeader('access-control-allow-origin', '*').setHeader('access-control-allow-headers', '*');
  const route = routes[(request.url ?? '').split('?')[0] ?? ''];
  if (route) return route(request, response);
  response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>not here</h1>');
};

beforeAll(async () => {
  if (browsersHere === null) return;
  site = await startSite(handle);
  other = await startSite(handle);
  stage = await startStage(FORMATS_CLUSTER, {
    'ads.doubleclick.net': ['127.0.0.1'],
    'news.test': ['127.0.0.1'],
    'frame.test': ['127.0.0.1'],
  });
  api = new ApiClient(stage.cluster.url, stage.cluster.apiKey);
}, SETUP_TIMEOUT_MS);

beforeEach(() => {
  routes = {
    '/echo': (_request, response) => response.setHeader('content-type', 'text/html').end(ECHO),
    '/sent': (request, response) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify(request.headers)),
  };
  for (const { log, headers } of [site, other]) log.length = headers.length = 0;
});

afterAll(async () => {
  await stage?.stop();
  await Promise.all([site?.close(), other?.close()]);
}, SETUP_TIMEOUT_MS);

const scrapeUrl = async (url: string, options: object = {}) => {
  const { status, body } = await api.post('/v2/scrape', { url, timeout: PATIENT_MS, waitFor: 1, ...options });
  return { status, body, data: body.data as PageData };
};
const scrape = (route: string, options: object = {}) => scrapeUrl(site.origin + route, options);

async function look(options: object): Promise<{ saw: Saw; document: Record<string, unknown>; data: PageData }> {
  const { body, data } = await scrape('/echo', { formats: ['rawHtml'], ...options });
  const written = /<p id="saw">([^<]+)<\/p>/.exec(data?.rawHtml ?? '')?.[1];
  if (written === undefined) throw new Error(`the page told nothing: ${JSON.stringify(body)}`);
  const saw = JSON.parse(Buffer.from(written, 'base64').toString('utf8')) as Saw;
  return { saw, document: site.headers[site.log.indexOf('GET /echo')] ?? {}, data };
}

withBrowser('the device', () => {
  it(
    'is a large window without touch unless mobile is asked for',
    async () => {
      const { saw, document, data } = await look({});
      expect(saw).toMatchObject({ width: 1280, height: 800, ratio: 1, touch: 0, timezone: expect.any(String) });
      expect(saw.agent).not.toContain('Mobile');
      expect(saw.hints.mobile).toBe(false);
      expect(document['sec-ch-ua-mobile']).toBe('?0');
      expect(data.metadata.timezone).toBeUndefined();
    },
    TEST_MS,
  );

  it(
    'is a phone with mobile, in all that it says of itself',
    async () => {
      const { saw, document } = await look({ mobile: true });
      expect(saw).toMatchObject({ width: 390, height: 844, ratio: 3, platform: 'Linux armv81' });
      expect(saw.touch).toBeGreaterThan(0);
      expect(saw.agent).toMatch(/Android .* Chrome\/\d+\.0\.0\.0 Mobile Safari\/537\.36 Troupe/);
      expect(saw.hints).toEqual({ mobile: true, platform: 'Android', model: 'Pixel 8' });
      for (const headers of [document, saw.sent]) {
        expect(headers['user-agent']).toBe(saw.agent);
        expect(headers['sec-ch-ua-mobile']).toBe('?1');
        expect(headers['sec-ch-ua-platform']).toBe('"Android"');
        expect(headers['sec-ch-ua']).not.toContain('Headless');
      }
    },
    TEST_MS,
  );
});

withBrowser('the location', () => {
  it.each([
    ['DE', [], 'Europe/Berlin', ['de-DE', 'de', 'en'], 'de-DE,de;q=0.9,en;q=0.8', [52.5, 13.37]],
    ['jp', [], 'Asia/Tokyo', ['ja-JP', 'ja', 'en'], 'ja-JP,ja;q=0.9,en;q=0.8', [35.65, 139.74]],
    ['BR', [], 'America/Sao_Paulo', ['pt-BR', 'pt', 'en'], 'pt-BR,pt;q=0.9,en;q=0.8', [-23.53, -46.62]],
    ['CH', ['fr-CH', 'it'], 'Europe/Zurich', ['fr-CH', 'fr', 'it'], 'fr-CH,fr;q=0.9,it;q=0.8', [47.38, 8.53]],
    ['US', ['es'], 'America/New_York', ['es'], 'es', [40.71, -74.01]],
  ])(
    '%s with languages %j has its zone, languages and place',
    async (country, languages, timezone, spoken, header, place) => {
      const { saw, document, data } = await look({ location: { country, languages } });
      expect(data.metadata.timezone).toBe(timezone);
      expect(saw).toMatchObject({ timezone, language: spoken[0], languages: spoken, place });
      expect(document['accept-language']).toBe(header);
      expect(saw.sent['accept-language']).toBe(header);
    },
    TEST_MS,
  );

  it(
    'goes with a phone',
    async () => {
      const { saw } = await look({ mobile: true, location: { country: 'IT' } });
      expect(saw).toMatchObject({ width: 390, timezone: 'Europe/Rome', language: 'it-IT', hints: { mobile: true } });
    },
    TEST_MS,
  );
});

withBrowser('headers and cookies of the caller', () => {
  const headers = { 'X-Token': 'secret', Cookie: 'session=s1' };

  it(
    'go with the requests of the page to its own origin, and to no other',
    async () => {
      html(
        '/app',
        `<h1>App</h1><script>
      fetch('/own'); fetch('/moved'); fetch('${other.origin}/foreign');
      new Image().src = '${other.origin}/pixel'; new Image().src = '/own-pixel';</script>`,
      );
      routes['/own'] = routes['/own-pixel'] = (_request, response) => response.end('own');
      routes['/moved'] = (_request, response) => response.writeHead(302, { location: `${other.origin}/after` }).end();
      // Of a page that is to be seen the images are loaded, too.
      await scrape('/app', { headers, formats: ['screenshot'] });
      const sent = new Map(site.log.map((line, at) => [line, site.headers[at]]));
      for (const route of ['/app', '/own', '/own-pixel', '/moved']) {
        expect([route, sent.get(`GET ${route}`)?.['x-token']]).toEqual([route, 'secret']);
        expect([route, sent.get(`GET ${route}`)?.cookie]).toEqual([route, 'session=s1']);
      }
      expect(other.log.filter((line) => line.startsWith('GET')).sort()).toEqual([
        'GET /after',
        'GET /foreign',
        'GET /pixel',
      ]);
      expect(JSON.stringify(other.headers)).not.toContain('secret');
    },
    TEST_MS,
  );

  it(
    'are left behind when the page is redirected away, by its requests too',
    async () => {
      routes['/away'] = (_request, response) => response.writeHead(302, { location: `${other.origin}/landed` }).end();
      html('/landed', `<h1>Landed</h1><script>fetch('/own'); fetch('${site.origin}/back')</script>`);
      routes['/own'] = routes['/back'] = (_request, response) => response.end('own');
      await scrape('/away', { headers });
      expect(site.log).toEqual(expect.arrayContaining(['GET /away', 'GET /back']));
      expect(site.headers[site.log.indexOf('GET /away')]?.['x-token']).toBe('secret');
      expect(site.headers[site.log.indexOf('GET /back')]?.['x-token']).toBeUndefined();
      expect(other.log).toEqual(expect.arrayContaining(['GET /landed', 'GET /own']));
      expect(JSON.stringify(other.headers)).not.toContain('secret');
    },
    TEST_MS,
  );
});

withBrowser('advertising and cookie banners', () => {
  beforeEach(() => {
    html(
      '/news',
      `<!doctype html><body style="overflow:hidden"><main><h1>News</h1><p>The text of the article about cookies and consent.</p></main>
      <div id="onetrust-banner-sdk">A known banner asks you.</div>
      <div class="my-cookie-overlay" style="position:fixed;bottom:0">We use cookies in a bar of our own.</div>
      <p class="cookie-recipes">How to bake cookies.</p>
      <div class="adsbygoogle">An empty frame for advertising.</div>
      <script src="http://ads.doubleclick.net:${site.port}/ad.js"></script></body>`,
    );
    routes['/ad.js'] = (_request, response) =>
      response.setHeader('content-type', 'text/javascript').end(`document.querySelector('main').append('BUY NOW')`);
  });
  const options = { onlyMainContent: false, formats: ['markdown', 'rawHtml'] };

  it(
    'are neither loaded nor read unless asked for',
    async () => {
      const { data } = await scrapeUrl(`http://news.test:${site.port}/news`, options);
      expect(site.log).not.toContain('GET /ad.js');
      expect(data.markdown).toContain('The text of the article about cookies and consent.');
      expect(data.markdown).toContain('How to bake cookies.');
      expect(data.rawHtml).not.toMatch(/BUY NOW|A known banner|a bar of our own|frame for advertising/);
    },
    TEST_MS,
  );

  it(
    'are loaded and read with blockAds: false',
    async () => {
      const { data } = await scrapeUrl(`http://news.test:${site.port}/news`, { ...options, blockAds: false });
      expect(site.log).toContain('GET /ad.js');
      for (const text of ['BUY NOW', 'A known banner', 'a bar of our own', 'frame for advertising'])
        expect(data.rawHtml).toContain(text);
    },
    TEST_MS,
  );
});

withBrowser('content that waits', () => {
  it(
    'below the window is read after scrolling there',
    async () => {
      html(
        '/feed',
        `<!doctype html><body><h1>Feed</h1><div id="items"></div><div id="end">.</div><script>
      let page = 0; const items = document.getElementById('items');
      const more = () => { if (page++ < 4) for (let n = 0; n < 10; n++)
        items.insertAdjacentHTML('beforeend', '<p style="height:150px">entry ' + page + '.' + n + '</p>'); };
      more();
      new IntersectionObserver(([{ isIntersecting }]) => { if (isIntersecting) fetch('/more').then(more); })
        .observe(document.getElementById('end'));</script></body>`,
      );
      routes['/more'] = (_request, response) => setTimeout(() => response.end('{}'), 50);
      const { data } = await scrape('/feed');
      for (const page of [1, 2, 3, 4]) expect(data.markdown).toContain(`entry ${page}.9`);
    },
    TEST_MS,
  );

  it(
    'for ever is given up in time',
    async () => {
      html(
        '/endless',
        `<!doctype html><body><div id="items"></div><div id="end">.</div><script>
      const items = document.getElementById('items'); let n = 0;
      const more = () => { for (let i = 0; i < 10; i++) items.insertAdjacentHTML('beforeend', '<p style="height:150px">entry ' + n++ + '</p>'); };
      more(); new IntersectionObserver(([{ isIntersecting }]) => { if (isIntersecting) more(); }, { rootMargin: '2000px' })
        .observe(document.getElementById('end')); setInterval(more, 50);
      new EventSource('/events'); fetch('/hangs');</script></body>`,
      );
      routes['/events'] = (_request, response) =>
        response.setHeader('content-type', 'text/event-stream').write('data: 1\n\n');
      routes['/hangs'] = () => undefined;
      const startedAt = performance.now();
      const { status, data } = await scrape('/endless');
      expect(status).toBe(200);
      expect(data.markdown).toContain('entry 1');
      expect(performance.now() - startedAt).toBeLessThan(30_000);
    },
    TEST_MS,
  );
});

withBrowser('frames', () => {
  beforeEach(() => {
    html(
      '/outer',
      `<h1>Outer</h1><p>Text of the page around the frames, which is long enough to be its content.</p>
      <iframe id="near" src="/inner" width="400" height="200"></iframe>
      <iframe class="far" src="http://frame.test:${site.port}/far" width="400" height="200"></iframe>
      <iframe src="/hidden" width="1" height="1"></iframe>`,
    );
    html('/inner', '<p>Words of the near frame with <a href="deep/link">a link</a>.</p>');
    html('/far', '<p>Words of the far frame.</p><script>document.body.append("Made there.")</script>');
    html('/hidden', '<p>Words nobody sees.</p>');
  });

  it(
    'are read in their place, those of other sites too',
    async () => {
      const { data } = await scrape('/outer', { formats: ['markdown', 'links'], onlyMainContent: false });
      for (const text of ['Text of the page', 'Words of the near frame', 'Words of the far frame.', 'Made there.'])
        expect(data.markdown).toContain(text);
      expect(data.markdown).not.toContain('Words nobody sees.');
      expect(data.links).toContain(`${site.origin}/deep/link`);
    },
    TEST_MS,
  );

  it(
    'are what iframe means in includeTags and excludeTags',
    async () => {
      const { data: only } = await scrape('/outer', { includeTags: ['iframe.far'] });
      expect(only.markdown).toContain('Words of the far frame.');
      expect(only.markdown).not.toMatch(/near frame|Text of the page/);
      const { data: without } = await scrape('/outer', { excludeTags: ['iframe'], onlyMainContent: false });
      expect(without.markdown).toContain('Text of the page');
      expect(without.markdown).not.toContain('frame with');
    },
    TEST_MS,
  );
});

withBrowser('a file that the browser would save', () => {
  const attach = (route: string, type: string, body: string): void => {
    routes[route] = (_request, response) =>
      response.writeHead(200, { 'content-type': type, 'content-disposition': 'attachment; filename=file' }).end(body);
  };

  it(
    'is read all the same',
    async () => {
      attach('/notes', 'text/plain', 'Notes to be saved, read by hand.');
      const { status, data } = await scrape('/notes');
      expect(status).toBe(200);
      expect(data.markdown).toContain('Notes to be saved, read by hand.');
    },
    TEST_MS,
  );

  it(
    'is refused when nobody can read it',
    async () => {
      attach('/archive', 'application/x-unknown-archive', '\u0000\u0001\u0002');
      const { status, body } = await scrape('/archive');
      expect({ status, code: body.code }).toEqual({ status: 500, code: 'SCRAPE_UNSUPPORTED_FILE_ERROR' });
    },
    TEST_MS,
  );

  it(
    'is no page to act on',
    async () => {
      attach('/notes', 'text/plain', 'Notes to be saved.');
      const { status, body } = await scrape('/notes', { actions: [{ type: 'wait', milliseconds: 10 }] });
      expect({ status, code: body.code }).toEqual({ status: 400, code: 'SCRAPE_ACTIONS_NOT_SUPPORTED' });
    },
    TEST_MS,
  );
});

/** An application of one document that shows a view by its address, and links to the others. */
const application = (
  view: string,
  address: (view: string) => string,
): string => `<!doctype html><html><head><title>App</title></head>
  <body><div id="root"></div><script>
  const show = () => { const view = ${view} || 'start';
    document.getElementById('root').innerHTML = '<h1>View ' + view + '</h1><p>Written for ' + view + ' by a script.</p>'
      + ${JSON.stringify(['users', 'about'].map((name) => `<a href="${address(name)}">${name}</a>`).join(' '))}; };
  show(); addEventListener('hashchange', show);</script></body></html>`;

withBrowser('a crawl of an application', () => {
  const crawl = async (route: string) => {
    const started = await api.post('/v2/crawl', {
      url: site.origin + route,
      sitemap: 'skip',
      scrapeOptions: { timeout: PATIENT_MS },
    });
    const { status, data } = await api.finished<{ status: string; data: PageData[] }>(
      `/v2/crawl/${started.body.id as string}`,
      TEST_MS,
    );
    expect(status).toBe('completed');
    return new Map(data.map(({ metadata, markdown }) => [metadata.url.slice(site.origin.length), markdown]));
  };

  it(
    'that keeps its views in the fragment finds each of them',
    async () => {
      html(
        '/hash',
        application(`location.hash.slice(2)`, (view) => `#/${view}`),
      );
      const found = await crawl('/hash');
      expect([...found.keys()].sort()).toEqual(['/hash', '/hash#/about', '/hash#/users']);
      expect(found.get('/hash#/users')).toContain('# View users');
      expect(found.get('/hash#/about')).toContain('# View about');
    },
    TEST_MS,
  );

  it(
    'that keeps its views in the path finds each of them',
    async () => {
      const page = application(`location.pathname.split('/')[2]`, (view) => `/path/${view}`);
      for (const route of ['/path', '/path/users', '/path/about']) html(route, page);
      const found = await crawl('/path');
      expect([...found.keys()].sort()).toEqual(['/path', '/path/about', '/path/users']);
      expect(found.get('/path/users')).toContain('# View users');
    },
    TEST_MS,
  );
});
