/**
 * CPU of the selector path beside the conversion that it is part of: `npm run build`, then
 * `node test/bench/selectors.measure.mjs [DATA_DIR]`. One process, one thread.
 *
 * With DATA_DIR (pages and `truth.jsonl.gz`, as test/quality reads them): web pages and a wish of nine fields that fits any of
 * them. The share of the conversion is judged there: exit 1 when it is too large. The share of the same wish with a list of
 * all links of the menu is told beside it: 56 of them a page, a third of the document. Always: the labelled pages, of which
 * the selectors take nearly all there is; their share is told, too.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

const dist = fileURLToPath(new URL('../../dist/', import.meta.url));
const { convertPage, readSelectors } = await import(path.join(dist, 'libs/content/src/index.js'));
const rules = await import(path.join(dist, 'libs/frontier/src/index.js'));
const folder = fileURLToPath(new URL('../sites/labelled/', import.meta.url));
const read = (name) => JSON.parse(readFileSync(path.join(folder, name), 'utf8'));

const WARM_UP = 5;
const ROUNDS = 41;
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

function pageOf(body, url, selectors) {
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
    discover: null,
    encoding: 'json',
  });
  const { schema } = readSelectors(selectors);
  const json = { type: 'json', prompt: null, schema: null, selectors: schema, learn: false };
  return { plain: request([{ type: 'markdown' }]), both: request([{ type: 'markdown' }, json]) };
}

/** Every eighth page with HTML of its own. */
function webPages(dir, selectors) {
  const lines = gunzipSync(readFileSync(path.join(dir, 'truth.jsonl.gz')))
    .toString('utf8')
    .split('\n');
  const pages = lines.filter((line, index) => line !== '' && index % 8 === 0).map((line) => JSON.parse(line));
  return pages
    .filter(({ html }) => typeof html === 'string')
    .map(({ html, url }) =>
      pageOf(bytesOf(path.join(dir, html)), /^https?:/.test(url ?? '') ? url : 'http://site.test/', selectors),
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
function cost(request) {
  const start = process.cpuUsage();
  convertPage(request, rules);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Both ways of each page, one right after the other and by turns: what slows the machine down meets both alike. */
function roundOf(pages, isPlainFirst) {
  let plain = 0;
  let both = 0;
  for (const page of pages) {
    if (isPlainFirst) plain += cost(page.plain);
    both += cost(page.both);
    if (!isPlainFirst) plain += cost(page.plain);
  }
  return { plain: plain / pages.length, extra: (both - plain) / pages.length };
}

/** Share of the conversion that selectors cost: of all pages of a round, the median of the rounds. */
function measure(name, pages) {
  for (let round = 0; round < WARM_UP; round++) roundOf(pages, true);
  const rounds = Array.from({ length: ROUNDS }, (_, round) => roundOf(pages, round % 2 === 0));
  const share = median(rounds.map(({ plain, extra }) => extra / plain));
  const [plain, extra] = ['plain', 'extra'].map((key) => median(rounds.map((round) => round[key])).toFixed(3));
  console.log(
    `${name}: ${pages.length} pages, ${ROUNDS} rounds: ${plain} ms of CPU a page, selectors ${extra} ms more (${(100 * share).toFixed(1)} %)`,
  );
  return share;
}

measure('labelled pages', labelledPages());
const [dir] = process.argv.slice(2);
if (dir === undefined) {
  console.log('SKIPPED: web pages, whose share is judged (no DATA_DIR)');
} else {
  measure('web pages, with all links of their menus', webPages(dir, WITH_MENU));
  const share = measure('web pages', webPages(dir, ANY_PAGE));
  console.log(`at most ${MOST_SHARE * 100} %: ${share <= MOST_SHARE ? 'holds' : 'MISSED'}`);
  process.exitCode = share <= MOST_SHARE ? 0 : 1;
}
