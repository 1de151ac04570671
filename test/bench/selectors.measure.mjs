/**
 * CPU of the selector path beside the conversion that it is part of: `npm run build`, then
 * `node test/bench/selectors.measure.mjs [DATA_DIR]`. One thread, in several processes one after the other.
 *
 * With DATA_DIR (pages and `truth.jsonl.gz`, as test/quality reads them): web pages and a wish of nine fields that fits any of
 * them. The share of the conversion of a crawl's page is judged (its links are found and its document is packed): exit 1 when
 * it is too large. Told beside it: the share of a scrape's conversion, which does less; of the same wish with a list of all
 * links of the menu, 56 of them a page, a third of the document; of the labelled pages, of which the selectors take nearly
 * all there is.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';

const dist = fileURLToPath(new URL('../../dist/', import.meta.url));
const { readSelectors } = await import(path.join(dist, 'libs/content/src/index.js'));
const { convertInThread } = await import(path.join(dist, 'libs/conversion/src/convert-in-thread.js'));
const folder = fileURLToPath(new URL('../sites/labelled/', import.meta.url));
const read = (name) => JSON.parse(readFileSync(path.join(folder, name), 'utf8'));

const WARM_UP = 5;
const ROUNDS = 20;
/** What V8 makes of the same code differs from process to process by more than what is measured. */
const PROCESSES = 7;
const MOST_SHARE = 0.05;
const families = read('families.json');
const PLAIN = {
  onlyMainContent: true,
  includeTags: [],
  excludeTags: [],
  removeBase64Images: true,
  parsers: { pdf: null, image: false },
};

/** Facts that any page may have. */
const ANY_PAGE = {
  title: 'h1',
  name: { selector: 'meta[property="og:site_name"]', attribute: 'content' },
  description: 'meta[name=description]',
  author: '[rel=author], .author, .byline',
  published: { selector: 'time', type: 'date' },
  image: { selector: 'article img, main img', type: 'url' },
  price: { selector: '.price', type: 'number' },
  first: '//p[string-length(normalize-space()) > 80]',
  headings: ['h2'],
};
const WITH_MENU = { ...ANY_PAGE, menu: [{ $: 'nav li > a', text: '.', url: { selector: '.', attribute: 'href' } }] };

/** A crawl's scope: its pages are searched for links, and their documents are packed. */
function crawlOf(url) {
  return {
    scope: {
      base: url,
      version: 1,
      includePaths: [],
      excludePaths: [],
      regexOnFullUrl: false,
      maxDepth: null,
      maxPathDepth: null,
      entireDomain: true,
      allowExternalLinks: false,
      allowSubdomains: false,
      ignoreQueryParameters: false,
      deduplicateSimilarUrls: true,
      sitemap: 'include',
    },
    depth: 1,
    maxLinks: 2000,
    obeyNofollow: true,
  };
}

function pageOf(body, url, selectors, isCrawled) {
  const request = (formats) => ({
    body,
    url,
    statusCode: 200,
    contentType: 'text/html; charset=utf-8',
    robotsTag: null,
    rendered: false,
    spec: { ...PLAIN, formats },
    captured: null,
    timeoutMs: 30_000,
    metadata: { sourceURL: url, url, statusCode: 200 },
    discover: isCrawled ? crawlOf(url) : null,
    encoding: isCrawled ? 'packed' : 'json',
  });
  const { schema } = readSelectors(selectors);
  const json = { type: 'json', prompt: null, schema: null, selectors: schema, learn: false };
  return { plain: request([{ type: 'markdown' }]), both: request([{ type: 'markdown' }, json]) };
}

/** Every eighth page with HTML of its own. */
function webPages(dir, selectors, isCrawled) {
  const lines = gunzipSync(readFileSync(path.join(dir, 'truth.jsonl.gz')))
    .toString('utf8')
    .split('\n');
  const pages = lines.filter((line, index) => line !== '' && index % 8 === 0).map((line) => JSON.parse(line));
  return pages
    .filter(({ html }) => typeof html === 'string')
    .map(({ html, url }) =>
      pageOf(
        bytesOf(path.join(dir, html)),
        /^https?:/.test(url ?? '') ? url : 'http://site.test/',
        selectors,
        isCrawled,
      ),
    );
}

function bytesOf(file) {
  const bytes = readFileSync(file);
  return file.endsWith('.gz') ? gunzipSync(bytes) : bytes;
}

function labelledPages() {
  return read('labels.json').map(({ family, page, url }) =>
    pageOf(readFileSync(path.join(folder, 'files', page)), url, families[family].selectors),
  );
}

/** CPU milliseconds. */
async function cost(request) {
  const start = process.cpuUsage();
  await convertInThread(request, null);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const sum = (values) => values.reduce((total, value) => total + value, 0);

/** Without the dearest quarter: what met something else on the machine. */
function usual(values) {
  const cheapest = values.toSorted((a, b) => a - b).slice(0, Math.ceil(values.length * 0.75));
  return sum(cheapest) / cheapest.length;
}

/** Of one process: cost of each page both ways, one right after the other and by turns, so that both meet the same machine. */
async function measure(pages) {
  const costs = pages.map(() => ({ plain: [], both: [] }));
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    const ways = round % 2 === 0 ? ['plain', 'both'] : ['both', 'plain'];
    for (const [i, page] of pages.entries()) {
      for (const way of ways) {
        const ms = await cost(page[way]);
        if (round >= 0) costs[i][way].push(ms);
      }
    }
  }
  const [plain, both] = ['plain', 'both'].map((way) => sum(costs.map((page) => usual(page[way]))) / pages.length);
  return { pages: pages.length, plain, share: both / plain - 1 };
}

const KINDS = {
  labelled: { name: 'labelled pages', pages: labelledPages },
  menu: { name: 'scraped web pages, with all links of their menus', pages: (dir) => webPages(dir, WITH_MENU) },
  scrape: { name: 'scraped web pages', pages: (dir) => webPages(dir, ANY_PAGE) },
  crawl: { name: 'crawled web pages', pages: (dir) => webPages(dir, ANY_PAGE, true) },
};

/** Share of the conversion that selectors cost: the median of the processes. */
function shareOf(kind, dir) {
  const results = Array.from({ length: PROCESSES }, () => {
    const args = [fileURLToPath(import.meta.url), ...(dir === undefined ? [] : [dir]), '--kind', kind];
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));
  });
  const shares = results.map(({ share }) => share);
  const percent = (share) => (100 * share).toFixed(1);
  const plain = median(results.map((result) => result.plain)).toFixed(2);
  console.log(
    `${KINDS[kind].name}: ${results[0].pages} pages of ${plain} ms, ${PROCESSES} processes of ${ROUNDS} rounds: ` +
      `selectors ${percent(median(shares))} % more (single processes ${percent(Math.min(...shares))} to ${percent(Math.max(...shares))})`,
  );
  return median(shares);
}

const { values, positionals } = parseArgs({ options: { kind: { type: 'string' } }, allowPositionals: true });
const [dir] = positionals;
if (values.kind !== undefined) {
  console.log(JSON.stringify(await measure(KINDS[values.kind].pages(dir))));
} else {
  shareOf('labelled', dir);
  if (dir === undefined) {
    console.log('SKIPPED: web pages, whose share is judged (no DATA_DIR)');
  } else {
    shareOf('menu', dir);
    shareOf('scrape', dir);
    const share = shareOf('crawl', dir);
    console.log(`at most ${MOST_SHARE * 100} %: ${share <= MOST_SHARE ? 'holds' : 'MISSED'}`);
    process.exitCode = share <= MOST_SHARE ? 0 : 1;
  }
}
