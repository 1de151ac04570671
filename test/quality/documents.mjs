/**
 * How much of the words of real PDFs arrives: `node test/quality/documents.mjs <folder> [pages] [--json]` (or TROUPE_PDF_FOLDER).
 *
 * Compares with `pdftotext` (poppler-utils), page by page, and prints for each file the share of its words that were found: of all, and of
 * those outside of the first and last lines that pages repeat. Says so and ends well where there is no folder or no pdftotext.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'parse5';

const words = process.argv.slice(2).filter((word) => word !== '--json');
const asJson = process.argv.includes('--json');
const folder = words[0] ?? process.env.TROUPE_PDF_FOLDER;
const maxPages = Number(words[1] ?? 100);

if (folder === undefined || !existsSync(folder) || spawnSync('pdftotext', ['-v']).error !== undefined) {
  console.log(
    'SKIPPED: real PDFs are not compared. Give a folder of PDFs, and install pdftotext (package poppler-utils).',
  );
  process.exit(0);
}

const { readPdf } = await import('../../dist/libs/pdf/src/read-pdf.js');

/** @param {string} file @returns {string[][]} lines of each page */
function peerPages(file) {
  const run = spawnSync('pdftotext', ['-l', String(maxPages), '-enc', 'UTF-8', file, '-'], { maxBuffer: 1 << 28 });
  const pages = run.stdout.toString('utf8').split('\f');
  return pages.slice(0, -1).map((page) => page.split('\n').filter((line) => line.trim() !== ''));
}

/** @param {string} text */
function wordsOf(text) {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      .replace(/\u00ad/g, '')
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

/** What stays of a line from page to page. @param {string} line */
const shape = (line) =>
  line
    .trim()
    .replace(/\d+/g, '#')
    .replace(/^[ivxlc]+$/i, '#');

/** @param {string[][]} pages pages without the lines that three of them begin or end with, two where there are few */
function withoutHeads(pages) {
  const edges = (/** @type {string[]} */ page) => [...page.slice(0, 3), ...page.slice(-3)].map(shape);
  const counts = new Map();
  for (const page of pages) for (const line of new Set(edges(page))) counts.set(line, (counts.get(line) ?? 0) + 1);
  return pages.map((page) =>
    page.filter((line, i) => {
      const isEdge = i < 3 || i >= page.length - 3;
      return !(isEdge && counts.get(shape(line)) >= (pages.length < 6 ? 2 : 3));
    }),
  );
}

/** What a list shows before an item. @param {any} item */
function numberOf(item) {
  const items = item.parentNode.childNodes.filter((/** @type {any} */ node) => node.nodeName === 'li');
  const start = item.parentNode.attrs.find((/** @type {any} */ { name }) => name === 'start')?.value ?? '1';
  return Number(start) + items.indexOf(item);
}

/** @param {string} html */
function textOf(html) {
  /** @type {string[]} */
  const out = [];
  const visit = (/** @type {any} */ node) => {
    if (node.value !== undefined) out.push(node.value);
    if (node.nodeName === 'li' && node.parentNode.nodeName === 'ol') out.push(` ${numberOf(node)} `);
    const isBlock = /^(p|h\d|li|td|th|tr|pre|table|ul|ol)$/.test(node.nodeName);
    if (isBlock) out.push(' ');
    for (const child of node.childNodes ?? []) visit(child);
    if (isBlock) out.push(' ');
  };
  visit(parse(html));
  return out.join('');
}

/** @param {string[]} wanted @param {string[]} found @returns {number} of `wanted`, how many are in `found` */
function countFound(wanted, found) {
  const left = new Map();
  for (const word of found) left.set(word, (left.get(word) ?? 0) + 1);
  let count = 0;
  for (const word of wanted) {
    const have = left.get(word) ?? 0;
    if (have > 0) {
      left.set(word, have - 1);
      count++;
    }
  }
  return count;
}

/** @param {number} part @param {number} whole */
const share = (part, whole) => (whole === 0 ? 1 : part / whole);

const sums = { all: 0, allFound: 0, own: 0, ownFound: 0 };
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.pdf'))
  .sort();
if (!asJson) console.log('recall  own lines  pages  ms/page  file');
const compared = [];
for (const name of files) {
  const body = readFileSync(path.join(folder, name));
  const startedAt = performance.now();
  const spec = { mode: /** @type {const} */ ('fast'), maxPages, pages: false, pageMarkers: false };
  const content = await readPdf(body, spec, { timeoutMs: 600_000, ocr: null });
  const ms = (performance.now() - startedAt) / content.parts.length;
  const peer = peerPages(path.join(folder, name));
  const own = withoutHeads(peer);
  const tally = { all: 0, allFound: 0, own: 0, ownFound: 0 };
  for (const [i, page] of peer.entries()) {
    const found = wordsOf(textOf(content.parts[i] ?? ''));
    const all = wordsOf(page.join('\n').replace(/(\p{L})-\n(\p{Ll})/gu, '$1$2'));
    const ownWords = wordsOf(own[i].join('\n').replace(/(\p{L})-\n(\p{Ll})/gu, '$1$2'));
    tally.all += all.length;
    tally.allFound += countFound(all, found);
    tally.own += ownWords.length;
    tally.ownFound += countFound(ownWords, found);
  }
  for (const key of /** @type {const} */ (['all', 'allFound', 'own', 'ownFound'])) sums[key] += tally[key];
  const recall = { all: share(tally.allFound, tally.all), own: share(tally.ownFound, tally.own) };
  compared.push({ name, pages: content.parts.length, ...recall });
  if (asJson) continue;
  const pages = String(content.parts.length).padStart(5);
  console.log(`${recall.all.toFixed(4)}  ${recall.own.toFixed(4)}     ${pages}  ${ms.toFixed(0).padStart(7)}  ${name}`);
}
const total = { all: share(sums.allFound, sums.all), own: share(sums.ownFound, sums.own) };
if (asJson) console.log(JSON.stringify({ files: compared, ...total }));
else console.log(`${total.all.toFixed(4)}  ${total.own.toFixed(4)}     all ${files.length} files`);
