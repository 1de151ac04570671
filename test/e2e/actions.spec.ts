/** Actions and screenshots through the whole cluster, in real Chromium, told by what the pages saw and the pictures show. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { browsersHere, type Site, startSite } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { hashDistance, readPicture } from '../support/picture.js';
import { handleStage } from './action-pages.fixture.js';

const SETUP_TIMEOUT_MS = 120_000;
const PATIENT_MS = 60_000;
const BROWSER_CONCURRENCY = 3;
const withBrowser = browsersHere === null ? describe.skip : describe;

interface ActionData {
  screenshots: string[];
  scrapes: { url: string; html: string }[];
  javascriptReturns: { type: string; value: unknown }[];
  pdfs: string[];
}

interface PageData {
  markdown: string;
  screenshot: string;
  actions: ActionData;
  warning?: string;
  metadata: { url: string; statusCode: number };
}

let site: Site;
/** On loopback as well, and not allowed. */
let forbidden: Site;
let cluster: TestCluster;
let api: ApiClient;

beforeAll(async () => {
  if (browsersHere === null) return;
  site = await startSite(handleStage);
  forbidden = await startSite((_request, response) => response.end('secret'));
  const env = {
    ALLOW_PRIVATE_TARGETS: `127.0.0.1:${site.port}`,
    HOST_GAP_MS: '0',
    BROWSER_CONCURRENCY: String(BROWSER_CONCURRENCY),
  };
  cluster = await startCluster({ env });
  api = new ApiClient(cluster.url, cluster.apiKey);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await cluster?.stop();
  await Promise.all([site?.close(), forbidden?.close()]);
}, SETUP_TIMEOUT_MS);

type Words = Record<string, unknown>;

async function scrape(route: string, options: Words, version = 'v2') {
  const order = { url: site.origin + route, timeout: PATIENT_MS, ...options };
  const { status, body } = await api.post(`/${version}/scrape`, order);
  return { status, body, data: body.data as PageData };
}

/** What the actions gave; a scrape that fails shows its error. */
async function act(route: string, ...actions: Words[]): Promise<ActionData> {
  const { status, body, data } = await scrape(route, { formats: [], actions });
  expect({ status, error: body.error }).toEqual({ status: 200, error: undefined });
  return data.actions;
}

/** Code, and the text without the address of the site. */
async function failureOf(route: string, options: Words): Promise<{ status: number; code: unknown; error: unknown }> {
  const { status, body } = await scrape(route, options);
  return { status, code: body.code, error: body.error };
}

const script = (text: string): Words => ({ type: 'executeJavascript', script: text });
const LOG = script(`[...document.querySelectorAll('#log li')].map((item) => item.textContent)`);
const values = ({ javascriptReturns }: ActionData): unknown[] => javascriptReturns.map(({ value }) => value);

withBrowser('actions on a page', () => {
  it('type into the field that is named, press keys, and go on typing where the focus is', async () => {
    const actions = await act(
      '/form',
      { type: 'write', selector: '#first', text: 'aB' },
      { type: 'press', key: 'Tab' },
      { type: 'write', text: 'c' },
      { type: 'press', key: 'Control+ArrowLeft' },
      LOG,
      { type: 'press', key: 'Enter' },
      { type: 'scrape' },
      { type: 'scrape', selector: '#query' },
    );
    expect(values(actions)).toEqual([['a', 'B', 'Tab', 'c', 'Control+Control', 'Control+ArrowLeft']]);
    const landed = `${site.origin}/landed?first=aB&second=c`;
    expect(actions.scrapes.map(({ url }) => url)).toEqual([landed, landed]);
    expect(actions.scrapes[0]?.html).toMatch(/^<!DOCTYPE html>\s*<html>.*<h1>Landed<\/h1>/s);
    expect(actions.scrapes[1]?.html).toBe('<p id="query">?first=aB&amp;second=c</p>');
    expect({ screenshots: actions.screenshots, pdfs: actions.pdfs }).toEqual({ screenshots: [], pdfs: [] });
  }, 90_000);

  it('click the first match or all of them, whatever the clicks take away and whatever covers them', async () => {
    const actions = await act(
      '/buttons',
      { type: 'click', selector: '.more' },
      { type: 'click', selector: '.more', all: true },
      { type: 'click', selector: '.gone', all: true },
      { type: 'click', selector: '#hidden', all: true },
      { type: 'click', selector: '#covered' },
      LOG,
    );
    const clicks = ['a', 'a', 'b', 'c', 'x', 'hidden', 'covered'].map((name) => `click ${name}`);
    expect(values(actions)).toEqual([clicks]);
  }, 90_000);

  it('wait for the page that a click leads to, and stay when it leads to none', async () => {
    const { data } = await scrape('/buttons', {
      formats: ['markdown'],
      actions: [
        { type: 'click', selector: '#nothing' },
        { type: 'click', selector: '#file' },
        { type: 'scrape', selector: 'p' },
        { type: 'click', selector: '#away' },
        { type: 'scrape' },
      ],
    });
    const [before, after] = data.actions.scrapes;
    expect(before).toEqual({ url: `${site.origin}/buttons`, html: '<p>Buttons</p>' });
    expect(after?.url).toBe(`${site.origin}/slow-page`);
    expect(after?.html).toContain('Filled later');
    expect(data.metadata).toMatchObject({ url: `${site.origin}/slow-page`, statusCode: 200 });
    expect(data.markdown).toContain('# Slow page');
  }, 90_000);

  it('reach into frames and shadow roots', async () => {
    const actions = await act(
      '/nested',
      { type: 'click', selector: '#inner' },
      { type: 'scrape', selector: '#inner-log' },
      { type: 'click', selector: '#deep' },
      { type: 'scrape', selector: '#deep-log' },
    );
    expect(actions.scrapes.map(({ html }) => html)).toEqual([
      '<p id="inner-log">clicked in the frame</p>',
      '<p id="deep-log">clicked in the shadow</p>',
    ]);
  }, 90_000);

  it('scroll the page by what its window shows and an element by what it shows', async () => {
    const down = { type: 'scroll', direction: 'down' };
    const where = script(`[scrollY / innerHeight, box.scrollTop]`);
    const moved = await act(
      '/long',
      down,
      down,
      where,
      { type: 'scroll', direction: 'up' },
      { ...down, selector: '#box' },
      { ...down, selector: '#box' },
      where,
      { type: 'scroll', direction: 'up', selector: '#box' },
      where,
    );
    expect(values(moved)).toEqual([
      [2, 0],
      [1, 200],
      [1, 100],
    ]);
    const pane = await act('/app-like', down, script(`document.getElementById('pane').scrollTop / innerHeight`));
    expect(values(pane)).toEqual([1]);
  }, 90_000);

  it('wait for a time, for an element, and for both', async () => {
    const now = script('performance.now()');
    const actions = await act(
      '/late',
      { type: 'wait', selector: '#late' },
      { type: 'scrape', selector: '#late' },
      now,
      { type: 'wait', milliseconds: 700 },
      now,
      { type: 'wait', selector: '#late', milliseconds: 600 },
      now,
    );
    expect(actions.scrapes[0]?.html).toBe('<p id="late">it is here</p>');
    const [there, slept, both] = values(actions) as [number, number, number];
    expect(slept - there).toBeGreaterThanOrEqual(700);
    expect(both - slept).toBeGreaterThanOrEqual(600);
  }, 90_000);

  it('give what scripts return, with its type', async () => {
    const circle = 'const circle = {}; circle.self = circle; return circle;';
    const scripts = [
      'return 7',
      'document.title',
      'await new Promise((done) => setTimeout(done, 50)); return [1, { deep: true }]',
      'window.seen = 1;\nconst x = 2 // a comment',
      'return window.seen === 1',
      'null',
      'return () => 1',
      'Symbol("s")',
      circle,
      '10n',
      'document.body.remove()',
    ];
    const { javascriptReturns } = await act('/late', ...scripts.map(script));
    expect(javascriptReturns).toEqual([
      { type: 'number', value: 7 },
      { type: 'string', value: 'Stage' },
      { type: 'object', value: [1, { deep: true }] },
      { type: 'undefined', value: null },
      { type: 'boolean', value: true },
      { type: 'object', value: null },
      { type: 'function', value: null },
      { type: 'symbol', value: null },
      { type: 'object', value: null },
      { type: 'bigint', value: '10' },
      { type: 'undefined', value: null },
    ]);
  }, 90_000);

  it('never hang on a dialog', async () => {
    const actions = await act(
      '/dialogs',
      { type: 'click', selector: '#ask' },
      LOG,
      script(`location.href = '/landed'`),
      { type: 'scrape', selector: 'h1' },
    );
    expect(values(actions)).toEqual([['false null'], '/landed']);
    expect(actions.scrapes).toEqual([{ url: `${site.origin}/landed`, html: '<h1>Landed</h1>' }]);
  }, 90_000);

  it('print the page on the paper that is asked for', async () => {
    const { pdfs } = await act(
      '/long',
      { type: 'pdf' },
      { type: 'pdf', format: 'A4', landscape: true },
      { type: 'pdf', format: 'A6', scale: 0.5 },
      { type: 'pdf', format: 'A6' },
    );
    const files = pdfs.map((uri) => {
      expect(uri).toMatch(/^data:application\/pdf;base64,JVBER/);
      return Buffer.from(uri.slice(uri.indexOf(',') + 1), 'base64').toString('latin1');
    });
    const papers = files.map((file) => {
      const [, width, height] = /\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/.exec(file) ?? [];
      return [Math.round(Number(width)), Math.round(Number(height))];
    });
    // Within a point: paper is measured in inches.
    const wanted = [612, 792, 842, 595, 297, 420, 297, 420];
    expect(papers.flat().map((side, index) => Math.abs(side - (wanted[index] ?? 0)) <= 1)).toEqual(
      wanted.map(() => true),
    );
    const [half = 0, whole = 0] = files.slice(2).map((file) => file.match(/\/Type \/Page\b/g)?.length);
    expect(whole / half).toBeGreaterThan(1.5);
  }, 90_000);

  it('take pictures in a window of their own and leave the page in its own', async () => {
    const small = { width: 400, height: 300 };
    const { screenshots, javascriptReturns } = await act(
      '/quarters',
      { type: 'screenshot' },
      { type: 'screenshot', viewport: small, quality: 60 },
      script('[innerWidth, innerHeight]'),
      { type: 'executeJavascript', script: `document.body.style.height = '2500px'` },
      { type: 'scroll', direction: 'down' },
      { type: 'screenshot', fullPage: true },
      script('scrollY'),
    );
    const [usual, narrow, whole] = screenshots.map(readPicture);
    expect(usual).toMatchObject({ type: 'png', width: 1920, height: 1080 });
    expect(usual?.colorAt(10, 10)).toBe('255,0,0');
    expect(narrow).toMatchObject({ type: 'jpeg', ...small });
    expect(narrow?.colorAt(10, 10)).toBe('255,0,255');
    expect(whole).toMatchObject({ type: 'png', width: 1920, height: 2500 });
    expect(javascriptReturns.map(({ value }) => value)).toEqual([[1920, 1080], '2500px', 1080]);
  }, 90_000);

  it('are done on every page of a batch, and have their place in its documents', async () => {
    const started = await api.post('/v2/batch/scrape', {
      urls: ['a', 'b'].map((name) => `${site.origin}/landed?${name}`),
      formats: ['markdown'],
      timeout: PATIENT_MS,
      actions: [script('location.search'), { type: 'screenshot', viewport: { width: 300, height: 200 } }],
    });
    const job = await api.finished<{ status: string; data: PageData[] }>(
      `/v2/batch/scrape/${started.body.id as string}`,
    );
    expect(job.status).toBe('completed');
    expect(job.data.map(({ actions }) => values(actions)[0]).sort()).toEqual(['?a', '?b']);
    for (const { actions } of job.data) {
      expect(readPicture(actions.screenshots[0] ?? '')).toMatchObject({ width: 300, height: 200 });
    }
  }, 90_000);
});

withBrowser('an action that fails', () => {
  it('is named with its place, its type and its reason', async () => {
    const cases: [Words, string][] = [
      [{ type: 'click', selector: '#nowhere' }, 'Action 1 (click) failed: no element matches "#nowhere"'],
      [{ type: 'click', selector: '#off' }, 'Action 1 (click) failed: the element is disabled'],
      [{ type: 'click', selector: 'a[[' }, 'Action 1 (click) failed: "a[[" is not a valid CSS selector'],
      [{ type: 'press', key: 'Foo' }, 'Action 1 (press) failed: Unknown key: "Foo"'],
      [{ type: 'write', selector: 'p', text: 'x' }, 'Action 1 (write) failed: the element cannot be written into'],
      [script('nope()'), 'Action 1 (executeJavascript) failed: the script threw ReferenceError: nope is not defined'],
      [script('const ='), `Action 1 (executeJavascript) failed: the script threw SyntaxError: Unexpected token '='`],
      [
        script(`location.reload(); await new Promise((done) => setTimeout(done, 5000))`),
        'Action 1 (executeJavascript) failed: the page or the element went away meanwhile',
      ],
      [
        script(`'x'.repeat(2_000_000)`),
        `Action 1 (executeJavascript) failed: the script's value is too large: its JSON may have 1048576 characters`,
      ],
    ];
    const errors: object[] = [];
    // As many at once as the browser shows: more would wait for one another.
    for (let i = 0; i < cases.length; i += BROWSER_CONCURRENCY) {
      const together = cases.slice(i, i + BROWSER_CONCURRENCY);
      const answers = together.map(([action]) =>
        failureOf('/buttons', { actions: [{ type: 'wait', milliseconds: 1 }, action] }),
      );
      errors.push(...(await Promise.all(answers)));
    }
    expect(errors).toEqual(cases.map(([, error]) => ({ status: 500, code: 'SCRAPE_ACTION_ERROR', error })));
  }, 90_000);

  it('does so within the time of the request, which ends any wait', async () => {
    const startedAt = performance.now();
    const actions = [{ type: 'wait', selector: '#never' }];
    expect(await failureOf('/late', { actions, timeout: 4000 })).toMatchObject({
      status: 408,
      code: 'SCRAPE_TIMEOUT',
    });
    const endless = [script('while (true) {}')];
    expect(await failureOf('/late', { actions: endless, timeout: 4000 })).toMatchObject({ status: 408 });
    expect(performance.now() - startedAt).toBeLessThan(40_000);
  }, 90_000);

  it('is not tried on a file', async () => {
    const actions = [{ type: 'scrape' }];
    for (const route of ['/notes.txt', '/file.bin']) {
      const failure = await failureOf(route, { actions });
      expect(failure).toMatchObject({ status: 400, code: 'SCRAPE_ACTIONS_NOT_SUPPORTED' });
    }
  }, 90_000);
});

withBrowser('a picture of the page', () => {
  it('shows it in the usual window, as PNG or as JPEG of the quality that is asked for', async () => {
    const [png, best, poor] = await Promise.all(
      [{}, { quality: 95 }, { quality: 10 }].map(async (options) => {
        const { data } = await scrape('/quarters', { formats: [{ type: 'screenshot', ...options }] });
        expect(Object.keys(data).sort()).toEqual(['metadata', 'screenshot']);
        return readPicture(data.screenshot);
      }),
    );
    for (const picture of [png, best, poor]) {
      expect(picture).toMatchObject({ width: 1920, height: 1080 });
      const corners = [picture?.colorAt(480, 270), picture?.colorAt(1440, 270), picture?.colorAt(480, 810)];
      expect(corners).toEqual(['255,0,0', '0,255,0', '0,0,255']);
      expect(hashDistance(picture?.hash() ?? '', png?.hash() ?? '')).toBeLessThanOrEqual(4);
    }
    expect([png?.type, best?.type, poor?.type]).toEqual(['png', 'jpeg', 'jpeg']);
    expect(poor?.bytes).toBeLessThan(best?.bytes ?? 0);
  }, 90_000);

  it('is laid out for its own window, and for a phone', async () => {
    const [own, phone] = await Promise.all([
      scrape('/quarters', { formats: [{ type: 'screenshot', viewport: { width: 450, height: 333 } }] }),
      scrape('/quarters', { formats: ['screenshot'], mobile: true }),
    ]);
    expect(readPicture(own.data.screenshot)).toMatchObject({ width: 450, height: 333 });
    expect(readPicture(own.data.screenshot).colorAt(5, 5)).toBe('255,0,255');
    const shown = readPicture(phone.data.screenshot);
    expect(shown).toMatchObject({ width: 390, height: 844 });
    expect(hashDistance(shown.hash(), readPicture(own.data.screenshot).hash())).toBeLessThanOrEqual(4);
  }, 90_000);

  it('shows all of the page, with what loads on sight', async () => {
    const viewport = { width: 300, height: 900 };
    const { data } = await scrape('/stripes', { formats: [{ type: 'screenshot', fullPage: true, viewport }] });
    const picture = readPicture(data.screenshot);
    expect(picture).toMatchObject({ width: 300, height: 8064 });
    expect([10, 4032, 8000].map((y) => picture.colorAt(30, y))).toEqual(['0,0,255', '0,255,0', '255,0,0']);
    expect(data.warning).toBeUndefined();
    const usual = await scrape('/stripes', { formats: ['screenshot'] });
    expect(hashDistance(picture.hash(), readPicture(usual.data.screenshot).hash())).toBeGreaterThan(40);
  }, 90_000);

  it('ends where a picture cannot be larger, and says so', async () => {
    const { data } = await scrape('/tower', {
      formats: ['markdown', { type: 'screenshot', fullPage: true, viewport: { width: 300, height: 900 } }],
    });
    expect(readPicture(data.screenshot)).toMatchObject({ width: 300, height: 16_384 });
    expect(data.warning).toBe('The screenshot shows 300 x 16384 px of a page of 300 x 20000 px.');
    expect(data.markdown).toBe('Tower');
  }, 90_000);

  it('is a document of its own where a page has no text', async () => {
    const { status, data } = await scrape('/canvas', { formats: ['screenshot'] });
    expect(status).toBe(200);
    expect(readPicture(data.screenshot).colorAt(100, 100)).toBe('0,255,0');
  }, 90_000);

  it('comes after the actions, in v1 as in v2', async () => {
    const options = {
      formats: ['screenshot@fullPage'],
      actions: [script(`document.body.style.height = '1500px'; document.body.innerHTML = ''`), { type: 'scrape' }],
    };
    const { data } = await scrape('/quarters', options, 'v1');
    const picture = readPicture(data.screenshot);
    expect(picture).toMatchObject({ width: 1920, height: 1500 });
    expect(picture.colorAt(480, 270)).toBe('255,255,255');
    expect(data.actions).toMatchObject({ screenshots: [], pdfs: [] });
    expect(data.actions.scrapes[0]?.html).toContain('height: 1500px');
  }, 90_000);
});

withBrowser('a script of a caller', () => {
  it('reaches nothing that its page may not reach', async () => {
    const target = `${forbidden.origin}/`;
    const attempt = (text: string): string => `try { await ${text} } catch { }`;
    const load = (tag: string, property: string): string =>
      `new Promise((done) => { const e = document.createElement('${tag}'); e.onload = e.onerror = done; e.${property} = '${target}'; document.body.append(e); setTimeout(done, 700); })`;
    const attempts = [
      `fetch('${target}', { mode: 'no-cors' })`,
      `fetch('/landed').then(() => { window.hasTalked = true })`,
      load('iframe', 'src'),
      load('img', 'src'),
      load('script', 'src'),
      `new Promise((done) => { new WebSocket('${target.replace('http', 'ws')}').onerror = done })`,
      `navigator.sendBeacon('${target}', 'x')`,
      `window.open('${target}')`,
      `new Promise((done) => { const w = new Worker(URL.createObjectURL(new Blob(["fetch('${target}', { mode: 'no-cors' }).then(postMessage, postMessage)"]))); w.onmessage = done; w.onerror = done; setTimeout(done, 700) })`,
      `fetch('file:///etc/passwd').then((answer) => answer.text()).then((text) => { window.file = text })`,
    ];
    const reached = `({ hasTalked: window.hasTalked, file: window.file, node: [typeof process, typeof require] })`;
    const actions = await act('/late', script(attempts.map(attempt).join('\n')), script(reached));
    expect(values(actions)[1]).toEqual({ hasTalked: true, node: ['undefined', 'undefined'] });
    const leave = [script(`location.href = '${target}'`), { type: 'wait', milliseconds: 500 }];
    const failure = await failureOf('/late', { actions: leave });
    expect(failure).toMatchObject({ status: 403, code: 'SCRAPE_TARGET_FORBIDDEN' });
    const file = await act('/late', script(`location.href = 'file:///etc/passwd'`), { type: 'scrape' });
    expect(file.scrapes[0]).toMatchObject({ url: `${site.origin}/late`, html: expect.stringContaining('Waiting') });
    expect({ connections: forbidden.connections, log: forbidden.log }).toEqual({ connections: 0, log: [] });
  }, 90_000);
});
