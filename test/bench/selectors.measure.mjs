/**
 * CPU of the selector path beside the conversion that it is part of: `npm run build`, then
 * `node test/bench/selectors.measure.mjs`. One process, one thread; the labelled pages with their selectors. Exit 1 when
 * selectors cost more than their share.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('../../dist/', import.meta.url));
const { convertPage, readSelectors } = await import(path.join(dist, 'libs/content/src/index.js'));
const rules = await import(path.join(dist, 'libs/frontier/src/index.js'));
const folder = fileURLToPath(new URL('../sites/labelled/', import.meta.url));
const read = (name) => JSON.parse(readFileSync(path.join(folder, name), 'utf8'));

const ROUNDS = Number(process.env['ROUNDS'] ?? 40);
const WARM_UP = 10;
const MOST_SHARE = 0.05;
const families = read('families.json');
const PLAIN = {
  onlyMainContent: true,
  includeTags: [],
  excludeTags: [],
  removeBase64Images: true,
  parsers: { pdf: null, image: false },
};

const pages = read('labels.json').map(({ family, page, url }) => {
  const request = (formats) => ({
    body: readFileSync(path.join(folder, 'files', page)),
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
  const { schema } = readSelectors(families[family].selectors);
  const json = { type: 'json', prompt: null, schema: null, selectors: schema, learn: false };
  return { family, plain: request([{ type: 'markdown' }]), both: request([{ type: 'markdown' }, json]) };
});

/** CPU milliseconds of one pass over the pages. */
function pass(kind) {
  const start = process.cpuUsage();
  for (const page of pages) convertPage(page[kind], rules);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const times = { plain: [], both: [] };
for (let round = -WARM_UP; round < ROUNDS; round++) {
  for (const kind of round % 2 === 0 ? ['plain', 'both'] : ['both', 'plain']) {
    const ms = pass(kind);
    if (round >= 0) times[kind].push(ms);
  }
}
const plain = median(times.plain) / pages.length;
const both = median(times.both) / pages.length;
const share = (both - plain) / plain;
console.log(
  `${pages.length} pages, ${ROUNDS} rounds: markdown ${plain.toFixed(3)} ms of CPU a page, with selectors ${both.toFixed(3)} ms`,
);
console.log(`selectors: ${(share * 100).toFixed(1)} % of the conversion (at most ${MOST_SHARE * 100} %)`);
process.exit(share <= MOST_SHARE ? 0 : 1);
