/** Files that are no web pages, through the whole cluster: scrapes, a crawl that meets them, and hostile ones. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { zipSync } from 'fflate';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { startSite, type Site } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { workspace } from '../support/cluster.js';
import { FORMATS_CLUSTER, startStage, type Stage } from '../support/shared-stage.js';

const SETUP_TIMEOUT_MS = 120_000;
const TIMEOUT_MS = 90_000;
const FOLDER = path.join(workspace, 'test/sites/documents/files');
const FILES = ['report.docx', 'report.odt', 'report.rtf', 'orders.xlsx', 'orders.ods', 'talk.pptx', 'book.epub'];
/** Eight pages of an office program; each page has notes of its own. */
const PDF = 'long-office-plain.pdf';
const FIRST_NOTES = ['note 2100', 'note 2400', 'note 2700'];
const FEED =
  '<?xml version="1.0"?><rss version="2.0"><channel><title>Notices</title><item><title>Bridge closed</title><link>/inside/two</link></item></channel></rss>';

interface Answer {
  type: string;
  body: Uint8Array;
}

const html = (body: string): Answer => ({
  type: 'text/html',
  body: Buffer.from(`<!doctype html><body>${body}</body>`),
});
const answers: Record<string, Answer> = {
  '/inside/': html(
    '<h1>Library</h1><p>All that the library has.</p><a href="report.docx">report</a> <a href="news">news</a> <a href="broken.docx">broken</a>',
  ),
  '/inside/two': html('<h1>Bridge</h1><p>Reached from a feed only.</p>'),
  '/inside/news': { type: 'application/rss+xml', body: Buffer.from(FEED) },
  '/inside/broken.docx': { type: 'application/zip', body: Buffer.from('PK\x03\x04 broken') },
  '/table.csv': { type: 'application/octet-stream', body: Buffer.from('Name;Height\nÅse;171\n') },
  '/bomb.docx': { type: 'application/zip', body: zipSync({ 'word/document.xml': Buffer.alloc(20_000_000) }) },
  '/pages/': html('<h1>Proceedings</h1><p>All the sessions of the year in one file.</p><a href="proceedings">file</a>'),
  '/paper.pdf': html('<div class="g-recaptcha"></div><title>Just a moment...</title><script src="x.js"></script>'),
  '/picture.png': { type: 'image/png', body: Buffer.from('89504e470d0a1a0a', 'hex') },
};

let site: Site;
let stage: Stage;
let api: ApiClient;

interface PageData {
  markdown: string;
  html: string;
  rawHtml: string;
  links: string[];
  warning?: string;
  pages?: { pageNumber: number; markdown: string }[];
  metadata: Record<string, unknown>;
}

beforeAll(async () => {
  for (const file of FILES) {
    const answer = { type: 'application/octet-stream', body: await readFile(path.join(FOLDER, file)) };
    answers[`/${file}`] = answer;
    answers[`/inside/${file}`] = answer;
  }
  const proceedings = { type: 'application/pdf', body: await readFile(path.join(FOLDER, '..', PDF)) };
  answers['/proceedings.pdf'] = proceedings;
  answers['/pages/proceedings'] = proceedings;
  site = await startSite((request, response) => {
    const answer = answers[request.url ?? ''];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': answer?.type ?? 'text/plain' });
    response.end(answer?.body ?? 'not here');
  });
  stage = await startStage(FORMATS_CLUSTER);
  api = new ApiClient(stage.cluster.url, stage.cluster.apiKey);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await stage?.stop();
  await site?.close();
}, SETUP_TIMEOUT_MS);

const scrape = async (route: string, options: object = {}, version = 'v2') => {
  const { status, body } = await api.post(`/${version}/scrape`, {
    url: site.origin + route,
    timeout: 60_000,
    ...options,
  });
  return { status, body, data: body.data as PageData };
};

describe('a scraped file', () => {
  it.each([
    ['report.docx', 'Tide gauges of the north coast', '| Skerry light | 198 | 240 | storm of 9 October |'],
    ['report.odt', 'Tide gauges of the north coast', '1. Open the valve.\n2. Wait for the float to rest.'],
    ['report.rtf', 'Tide gauges of the north coast', 'Åse Þórsdóttir and Łukasz Żak checked the figures'],
    ['orders.xlsx', 'Orders of the joinery', '| 2025-02-28 | Pine & spruce | 4,000 | 0.99 € | 0.0% | 3,960.00 € |'],
    ['orders.ods', 'Orders of the joinery', '| 2025-12-01 | Brass screws | 250 | 3.50 € | 20.0% | 700.00 € |'],
    ['talk.pptx', 'A year with bees', '- A queen flies **once** in her life'],
    ['book.epub', 'The salt road', '> Snow in June, said the guide.'],
  ])(
    '%s becomes markdown whatever its declared type, for one credit',
    async (file, title, line) => {
      const { status, data } = await scrape(`/${file}`);
      expect(status).toBe(200);
      expect(data.markdown).toContain(line);
      expect(data.metadata).toMatchObject({ title, creditsUsed: 1, statusCode: 200, proxyUsed: 'basic' });
      expect(data.metadata).not.toHaveProperty('numPages');
    },
    TIMEOUT_MS,
  );

  it(
    'has its own html, links and parts by selectors',
    async () => {
      const formats = ['html', 'rawHtml', 'links', 'markdown'];
      const { data } = await scrape('/report.docx', { formats, excludeTags: ['table'] });
      const address = String(data.metadata.sourceURL);
      expect(data.links).toEqual([
        `${address}#footnote-2`,
        'http://archive.example/series?id=7&year=2025',
        `${address}#footnote-ref-2`,
      ]);
      expect(data.rawHtml).toContain('<table>');
      expect(data.html).not.toContain('<table>');
      expect(data.markdown).not.toContain('Skerry light');
      expect(data.markdown).toContain('## Steps of a reading');
    },
    TIMEOUT_MS,
  );

  it(
    'that is a table of text is a table',
    async () => {
      const { data } = await scrape('/table.csv', { formats: ['markdown', 'rawHtml'] });
      expect(data).toMatchObject({
        markdown: '| Name | Height |\n| --- | --- |\n| Åse | 171 |',
        rawHtml: 'Name;Height\nÅse;171\n',
      });
    },
    TIMEOUT_MS,
  );

  it(
    'comes back in base64 where no parser is wanted',
    async () => {
      const { data } = await scrape('/report.docx', { formats: ['markdown', 'html'], parsers: [] });
      const file = await readFile(path.join(FOLDER, 'report.docx'));
      expect(Buffer.from(data.markdown, 'base64').equals(file)).toBe(true);
      expect(data.html).toBe(data.markdown);
      expect(data.metadata).toMatchObject({ creditsUsed: 1 });
    },
    TIMEOUT_MS,
  );

  it(
    'is fetched plainly where a browser was asked for, and refused with actions',
    async () => {
      const { status, data } = await scrape('/report.docx', { waitFor: 100 });
      expect(status).toBe(200);
      expect(data.markdown).toContain('# Heights by station');
      const { status: refused, body } = await scrape('/report.docx', { actions: [{ type: 'wait', milliseconds: 10 }] });
      expect({ refused, code: body.code }).toEqual({ refused: 400, code: 'SCRAPE_ACTIONS_NOT_SUPPORTED' });
    },
    TIMEOUT_MS,
  );
});

describe('a PDF', () => {
  /** Which of the notes that pages begin with are there: tells the pages that were read, and their order. */
  const notesOf = (markdown: string) => FIRST_NOTES.filter((note) => markdown.includes(note));
  const pdf = (options: object) => ({ parsers: [{ type: 'pdf', ...options }] });

  it.each([
    ['v2', {}],
    ['v2', { parsers: ['pdf'] }],
    ['v1', {}],
    ['v1', { parsePDF: true }],
  ])(
    'is read whole by %s with %j, for a credit a page',
    async (version, options) => {
      const { data } = await scrape('/proceedings.pdf', options, version);
      expect(notesOf(data.markdown)).toEqual(FIRST_NOTES);
      expect(data.markdown).toContain('# Session 1');
      expect(data).not.toHaveProperty('pages');
      expect(data.metadata).toMatchObject({ numPages: 8, totalPages: 8, creditsUsed: 8 });
    },
    TIMEOUT_MS,
  );

  it(
    'is read as far as maxPages says, and costs what was read',
    async () => {
      const { data } = await scrape('/proceedings.pdf', pdf({ maxPages: 2 }));
      expect(notesOf(data.markdown)).toEqual(FIRST_NOTES.slice(0, 2));
      expect(data.metadata).toMatchObject({ numPages: 2, totalPages: 8, creditsUsed: 2 });
      const { data: all } = await scrape('/proceedings.pdf', pdf({ maxPages: 10_000, mode: 'fast' }));
      expect(all.metadata).toMatchObject({ numPages: 8, totalPages: 8, creditsUsed: 8 });
    },
    TIMEOUT_MS,
  );

  it.each(['pages', 'pageMarkdown'])(
    'gives its pages one by one with %s',
    async (key) => {
      const { data } = await scrape('/proceedings.pdf', pdf({ maxPages: 3, [key]: true }));
      expect(data.pages?.map(({ pageNumber }) => pageNumber)).toEqual([1, 2, 3]);
      expect(data.pages?.map(({ markdown }) => notesOf(markdown))).toEqual(FIRST_NOTES.map((note) => [note]));
      expect(data.metadata).toMatchObject({ numPages: 3, creditsUsed: 3 });
    },
    TIMEOUT_MS,
  );

  it(
    'marks where pages begin with pageMarkers',
    async () => {
      const { data } = await scrape('/proceedings.pdf', pdf({ maxPages: 3, pageMarkers: true }));
      const parts = data.markdown.split(/\n\n---\n\n<!-- page (\d+) -->\n\n/);
      expect(parts.filter((_, i) => i % 2 === 1)).toEqual(['2', '3']);
      expect(parts.filter((_, i) => i % 2 === 0).map(notesOf)).toEqual(FIRST_NOTES.map((note) => [note]));
    },
    TIMEOUT_MS,
  );

  it.each([
    ['v2', { parsers: [] }],
    ['v1', { parsePDF: false }],
  ])(
    'comes back in base64 by %s with %j, for one credit',
    async (version, options) => {
      const { data } = await scrape('/proceedings.pdf', options, version);
      const file = await readFile(path.join(FOLDER, '..', PDF));
      expect(Buffer.from(data.markdown, 'base64').equals(file)).toBe(true);
      expect(data.metadata).toMatchObject({ creditsUsed: 1 });
      expect(data.metadata).not.toHaveProperty('numPages');
    },
    TIMEOUT_MS,
  );

  it.each([
    ['v2', { scrapeOptions: pdf({ maxPages: 2 }) }, 3],
    ['v1', { scrapeOptions: { parsePDF: true } }, 9],
    ['v1', { scrapeOptions: { parsePDF: false } }, 2],
  ])(
    'that a crawl by %s with %j meets costs what was read of it',
    async (version, options, credits) => {
      const started = await api.post(`/${version}/crawl`, {
        url: `${site.origin}/pages/`,
        ...(version === 'v2' ? { sitemap: 'skip' } : { ignoreSitemap: true }),
        ...options,
      });
      const job = await api.finished<{ creditsUsed: number; data: PageData[] }>(
        `/${version}/crawl/${started.body.id as string}`,
        TIMEOUT_MS,
      );
      expect(job.creditsUsed).toBe(credits);
      expect(job.data.map(({ metadata }) => metadata['creditsUsed'])).toEqual(expect.arrayContaining([1, credits - 1]));
    },
    TIMEOUT_MS,
  );
});

describe('a file that cannot be read', () => {
  it.each([
    ['/inside/broken.docx', 'SCRAPE_UNSUPPORTED_FILE_ERROR', /damaged/],
    ['/bomb.docx', 'SCRAPE_UNSUPPORTED_FILE_ERROR', /unpacks|packs/],
    ['/picture.png', 'SCRAPE_UNSUPPORTED_FILE_ERROR', /parser "image"/],
    ['/paper.pdf', 'SCRAPE_PDF_ANTIBOT_ERROR', /bot wall/],
  ])(
    '%s ends with %s, and the next page is read',
    async (route, code, says) => {
      const { status, body } = await scrape(route);
      expect({ status, code: body.code }).toEqual({ status: 500, code });
      expect(body.error).toMatch(says);
      expect((await scrape('/inside/two')).status).toBe(200);
    },
    TIMEOUT_MS,
  );

  it(
    'names the missing engine when its text should be recognised',
    async () => {
      const { body } = await scrape('/picture.png', { parsers: ['image'] });
      expect(body).toMatchObject({ code: 'SCRAPE_UNSUPPORTED_FILE_ERROR' });
      expect(body.error).toMatch(/no engine for text recognition/);
    },
    TIMEOUT_MS,
  );
});

it(
  'a crawl reads the files that it meets and follows their links',
  async () => {
    const started = await api.post('/v2/crawl', { url: `${site.origin}/inside/`, sitemap: 'skip' });
    const id = started.body.id as string;
    const { status, data } = await api.finished<{ status: string; data: PageData[] }>(`/v2/crawl/${id}`, TIMEOUT_MS);
    expect(status).toBe('completed');
    const found = new Map(data.map(({ metadata, markdown }) => [new URL(String(metadata['url'])).pathname, markdown]));
    expect([...found.keys()].sort()).toEqual(['/inside/', '/inside/news', '/inside/report.docx', '/inside/two']);
    expect(found.get('/inside/news')).toContain(`## [Bridge closed](${site.origin}/inside/two)`);
    const { body } = await api.call(`/v2/crawl/${id}/errors`);
    expect(body.errors).toMatchObject([
      { url: `${site.origin}/inside/broken.docx`, code: 'SCRAPE_UNSUPPORTED_FILE_ERROR' },
    ]);
  },
  TIMEOUT_MS,
);
