/**
 * Pictures through the whole cluster: given by address instead of in the document, and read by a real program that
 * recognises text, which is given what the browser of the same cluster has painted.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PNG } from 'pngjs';
import { browsersHere, type Site, startSite } from '@troupe/testing';
import { writePdf } from '../../libs/pdf/src/pdf-writer.fixture.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { hasPrograms } from '../support/debian-package.js';

const SETUP_TIMEOUT_MS = 240_000;
const TIMEOUT_MS = 60_000;
/** Where operators would say that the gateways are: nobody listens there. */
const PUBLIC_BASE = 'https://crawl.example/api';
const SENTENCE = 'The lighthouse keeper counted seventeen ships before breakfast.';
const OTHER = 'Nobody had ordered the cargo of umbrellas.';
const TEXTS = `<!doctype html><body style="margin:60px;font:44px Arial,sans-serif"><p>${SENTENCE}</p><p>${OTHER}</p>`;

const withBrowser = browsersHere === null ? describe.skip : describe;
const hasTesseract = browsersHere !== null && hasPrograms(['tesseract'], ['tesseract-ocr']);
const withTesseract = hasTesseract ? describe : describe.skip;
if (!hasTesseract) {
  process.stderr.write('troupe    | SKIPPED: there is no tesseract, or no browser; text recognition is not tried\n');
}

interface PageData {
  markdown: string;
  screenshot: string;
  actions: { screenshots: string[]; pdfs: string[] };
  warning?: string;
  pages?: { pageNumber: number; markdown: string }[];
  metadata: Record<string, unknown>;
}

let site: Site;
let cluster: TestCluster;
let api: ApiClient;
const files = new Map<string, { type: string; body: Uint8Array }>();

beforeAll(async () => {
  if (browsersHere === null) return;
  files.set('/texts', { type: 'text/html', body: Buffer.from(TEXTS) });
  site = await startSite((request, response) => {
    const file = files.get(request.url ?? '');
    response.writeHead(file === undefined ? 404 : 200, { 'content-type': file?.type ?? 'text/plain' });
    response.end(file?.body ?? 'not here');
  });
  cluster = await startCluster({
    env: {
      ALLOW_PRIVATE_TARGETS: `127.0.0.1:${site.port}`,
      HOST_GAP_MS: '0',
      PUBLIC_BASE_URL: PUBLIC_BASE,
      ARTIFACT_URLS: 'on',
      ...(hasTesseract ? { OCR_COMMAND: 'tesseract' } : {}),
    },
  });
  api = new ApiClient(cluster.url, cluster.apiKey);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await cluster?.stop();
  await site?.close();
}, SETUP_TIMEOUT_MS);

async function scrape(route: string, options: object, version = 'v2') {
  const order = { url: site.origin + route, timeout: TIMEOUT_MS, ...options };
  const { status, body } = await api.post(`/${version}/scrape`, order);
  return { status, body, data: body.data as PageData };
}

/** As somebody who has no key but the address. */
function fetchFile(address: string): Promise<Response> {
  expect(address).toMatch(
    /^https:\/\/crawl\.example\/api\/artifacts\/\d{10}\/[0-9a-f]{2}\/[0-9a-f]{64}\.(png|jpg|pdf)$/,
  );
  return fetch(cluster.url + address.slice(PUBLIC_BASE.length));
}

async function bytesOf(address: string): Promise<Buffer> {
  const answer = await fetchFile(address);
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

withBrowser('a screenshot', () => {
  it.each(['v1', 'v2'])(
    'asked for by %s is an address, which anybody who has it can open and no browser runs',
    async (version) => {
      const { data } = await scrape('/texts', { formats: ['screenshot'] }, version);
      const answer = await fetchFile(data.screenshot);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': 'image/png',
        'content-security-policy': "default-src 'none'; sandbox",
        'x-content-type-options': 'nosniff',
        'content-disposition': expect.stringMatching(/^inline; filename="[0-9a-f]{64}\.png"$/),
      });
      const { width, height } = PNG.sync.read(Buffer.from(await answer.arrayBuffer()));
      expect({ width, height }).toEqual({ width: 1920, height: 1080 });
    },
    TIMEOUT_MS,
  );

  it(
    'of an action is one as well, and so is a PDF',
    async () => {
      const actions = [{ type: 'screenshot', quality: 60 }, { type: 'screenshot', fullPage: true }, { type: 'pdf' }];
      const { data } = await scrape('/texts', { formats: ['markdown'], actions });
      const { screenshots, pdfs } = data.actions;
      const heads = await Promise.all(
        [...screenshots, ...pdfs].map(async (address) => (await bytesOf(address)).subarray(0, 4)),
      );
      expect(heads.map((head) => head.toString('latin1'))).toEqual(['\xff\xd8\xff\xe0', '\x89PNG', '%PDF']);
      expect(data.markdown).toContain(SENTENCE);
    },
    TIMEOUT_MS,
  );

  it(
    'of a crawled page is one, too, and equal pictures have addresses of their own',
    async () => {
      const started = await api.post('/v2/batch/scrape', { urls: [`${site.origin}/texts`], formats: ['screenshot'] });
      const { data } = await api.finished<{ data: PageData[] }>(
        `/v2/batch/scrape/${started.body.id as string}`,
        TIMEOUT_MS,
      );
      const { data: single } = await scrape('/texts', { formats: ['screenshot'] });
      const address = data[0]!.screenshot;
      expect(address).not.toBe(single.screenshot);
      expect((await bytesOf(address)).equals(await bytesOf(single.screenshot))).toBe(true);
    },
    TIMEOUT_MS,
  );

  it(
    'is not there under an address that was never given',
    async () => {
      const { data } = await scrape('/texts', { formats: ['screenshot'] });
      const last = data.screenshot.at(-5)!;
      const guessed = `${data.screenshot.slice(0, -5)}${last === '0' ? '1' : '0'}.png`;
      expect((await fetchFile(guessed)).status).toBe(404);
      for (const path of ['/artifacts', '/artifacts/zdr/ab/x', '/artifacts/2026112210/..%2f..%2fx/y.png']) {
        expect((await fetch(cluster.url + path)).status).toBe(404);
      }
    },
    TIMEOUT_MS,
  );
});

withTesseract('text in pictures', () => {
  beforeAll(async () => {
    const { data } = await scrape('/texts', { formats: ['screenshot'] });
    const painted = await bytesOf(data.screenshot);
    const { width, height, data: rgba } = PNG.sync.read(painted);
    // A page is as high as a third more than it is wide: below the picture it stays white.
    const scan = {
      width,
      height: (width * 4) / 3,
      gray: (x: number, y: number) => (y < height ? rgba[4 * (y * width + x)]! : 255),
    };
    files.set('/painted.png', { type: 'image/png', body: painted });
    files.set('/scan.pdf', {
      type: 'application/pdf',
      body: writePdf([{ texts: [{ x: 60, y: 80, text: 'A page that was written.' }] }, { scan }]),
    });
  }, TIMEOUT_MS);

  it(
    'is recognised in an image, for one credit',
    async () => {
      const { status, data } = await scrape('/painted.png', { formats: ['markdown'], parsers: ['image'] });
      expect(status).toBe(200);
      expect(data.markdown).toContain(SENTENCE);
      expect(data.markdown).toContain(OTHER);
      expect(data.metadata).toMatchObject({ creditsUsed: 1 });
    },
    TIMEOUT_MS,
  );

  it(
    'is recognised on the pages of a PDF that are scanned, and on no other',
    async () => {
      const { data } = await scrape('/scan.pdf', { formats: ['markdown'], parsers: [{ type: 'pdf', pages: true }] });
      expect(data.pages?.[0]?.markdown).toBe('A page that was written.');
      expect(data.pages?.[1]?.markdown).toContain(SENTENCE);
      expect(data.warning).toBeUndefined();
      expect(data.metadata).toMatchObject({ numPages: 2, creditsUsed: 2 });
    },
    TIMEOUT_MS,
  );

  it(
    'stays unread in the mode fast, which says so',
    async () => {
      const { data } = await scrape('/scan.pdf', { formats: ['markdown'], parsers: [{ type: 'pdf', mode: 'fast' }] });
      expect(data.markdown).toBe('A page that was written.');
      expect(data.warning).toBe('Page 2 is scanned and left empty: the mode fast reads embedded text only.');
    },
    TIMEOUT_MS,
  );
});
