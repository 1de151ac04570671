/**
 * How much of documentation whose main container is known arrives with `onlyMainContent`. Pages are those of Debian's
 * documentation packages (no-loss-sets.json), unpacked once into the cache folder; nothing is installed.
 *
 *   node test/quality/no-loss.mjs [--sets tuned|unseen|fresh] [--per-set 60] [--lost] [--min recall=0.99]     (after npm run build)
 *
 * What should arrive is the container alone, written by the same writer. Exit code 1: a figure below `--min`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { cacheDir, root } from '../../deploy/local/places.mjs';
import { compiled, linkRules } from './kit.mjs';

/** @typedef {{ name: string, package: string, under: string, body: string[], not: string[] }} PageSet */
/** @typedef {Record<string, { kept: number, wanted: number, shown: number }>} Counts */

const { values: options } = parseArgs({
  options: {
    sets: { type: 'string' },
    'per-set': { type: 'string', default: '60' },
    lost: { type: 'boolean', default: false },
    min: { type: 'string', multiple: true, default: [] },
  },
});
const SETS = /** @type {Record<string, PageSet[]>} */ (
  JSON.parse(readFileSync(path.join(root, 'test/quality/no-loss-sets.json'), 'utf8'))
);
const DOWNLOAD_MS = 240_000;
const MIN_WORDS = 20;

const { convertPage } = await compiled('content/index.js');
const { pageRequest } = await compiled('content/page-fixture.js');
const rules = await linkRules();

/** @param {string} program @param {string[]} args @param {string} cwd */
function run(program, args, cwd) {
  const { error, status, stderr } = spawnSync(program, args, { cwd, timeout: DOWNLOAD_MS, encoding: 'utf8' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr.trim().slice(-300)}`);
}

/** @param {string} name @returns {string} folder of the unpacked package */
function unpacked(name) {
  const folder = path.join(cacheDir(), 'no-loss', name);
  if (existsSync(folder)) return folder;
  mkdirSync(path.dirname(folder), { recursive: true });
  const work = mkdtempSync(`${folder}.`);
  try {
    run('apt-get', ['download', name], work);
    const [file] = readdirSync(work);
    run('dpkg-deb', ['-x', String(file), 'files'], work);
    renameSync(path.join(work, 'files'), folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return folder;
}

/** Files of a set, evenly taken. @param {PageSet} set @param {number} limit @returns {string[]} */
function pagesOf(set, limit) {
  const folder = path.join(unpacked(set.package), set.under);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.html'))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();
  const step = Math.max(1, files.length / limit);
  return Array.from({ length: Math.min(limit, files.length) }, (_, i) => String(files[Math.floor(i * step)]));
}

/** @param {Buffer} html @param {object} spec @returns {string} */
function markdownOf(html, spec) {
  const plain = pageRequest(html);
  const { document } = convertPage({ ...plain, spec: { ...plain.spec, ...spec } }, rules);
  return JSON.parse(Buffer.from(document).toString()).markdown;
}

/** Texts of each kind in a markdown. @param {string} markdown @returns {Record<string, string[]>} */
function partsOf(markdown) {
  const parts = { words: wordsOf(markdown), headings: [], items: [], rows: [], code: [], images: [] };
  const { headings, items, rows, code, images } = /** @type {Record<string, string[]>} */ (parts);
  let fence = '';
  for (const line of markdown.split('\n')) {
    const [, marks = ''] = /^[\s>]*(?:[-*+]\s+|\d+\.\s+)*(`{3,}|~{3,})/.exec(line) ?? [];
    if (marks !== '' && (fence === '' || marks.startsWith(fence))) fence = fence === '' ? marks : '';
    else if (fence !== '') code?.push(line);
    else if (/^[\s>]*#{1,6} /.test(line)) headings?.push(line);
    else if (/^[\s>]*(?:[-*+]|\d+[.)]) /.test(line)) items?.push(line);
    else if (/^[\s>]*\|/.test(line) && !/^[\s>|:-]+$/.test(line)) rows?.push(line);
    if (fence === '') images?.push(...(line.match(/!\[[^\]]*\]\([^)\s]+/g) ?? []));
  }
  return Object.fromEntries(
    Object.entries(parts).map(([kind, list]) => [kind, list.map((text) => (kind === 'words' ? text : plain(text)))]),
  );
}

/** Numbers of list items change with what stands before them. @param {string} text */
const plain = (text) => text.replace(/^[\s>]*(?:[-*+]|\d+[.)])?\s*/, '').trim();

/** @param {string} markdown @returns {string[]} */
function wordsOf(markdown) {
  const text = markdown.replace(/!\[[^\]]*\]\([^)]*\)/g, ' ').replace(/\]\([^)\s]*(?: "[^"]*")?\)/g, '] ');
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** How many of the wanted texts are there, each as often as it is. @param {string[]} wanted @param {string[]} shown */
function common(wanted, shown) {
  const left = new Map();
  for (const text of shown) left.set(text, (left.get(text) ?? 0) + 1);
  let kept = 0;
  for (const text of wanted) {
    const count = left.get(text) ?? 0;
    if (count === 0) continue;
    left.set(text, count - 1);
    kept++;
  }
  return kept;
}

/** @param {Counts} counts @param {Counts} more */
function add(counts, more) {
  for (const [kind, { kept, wanted, shown }] of Object.entries(more)) {
    const sum = (counts[kind] ??= { kept: 0, wanted: 0, shown: 0 });
    sum.kept += kept;
    sum.wanted += wanted;
    sum.shown += shown;
  }
}

/** @param {PageSet} set @param {string} file @returns {Counts | null} null for a page without a body */
function scorePage(set, file) {
  const html = readFileSync(file);
  const body = markdownOf(html, { includeTags: set.body, excludeTags: set.not });
  const wanted = partsOf(body);
  if (Number(wanted.words?.length) < MIN_WORDS) return null;
  const shown = partsOf(markdownOf(html, { onlyMainContent: true, excludeTags: ['a.headerlink', 'a.mark'] }));
  const counts = Object.entries(wanted).map(([kind, list]) => {
    const other = shown[kind] ?? [];
    return [kind, { kept: common(list, other), wanted: list.length, shown: other.length }];
  });
  return Object.fromEntries(counts);
}

/** @param {Counts} counts @param {number[]} losses per page */
function figures(counts, losses) {
  const { words = { kept: 0, wanted: 0, shown: 0 } } = counts;
  const share = (/** @type {string} */ kind) => {
    const { kept, wanted } = counts[kind] ?? { kept: 0, wanted: 0 };
    return wanted === 0 ? NaN : kept / wanted;
  };
  const lost = (/** @type {number} */ than) => losses.filter((loss) => loss > than).length / losses.length;
  return {
    recall: share('words'),
    precision: words.kept / words.shown,
    headings: share('headings'),
    items: share('items'),
    rows: share('rows'),
    code: share('code'),
    images: share('images'),
    lost1: lost(0.01),
    lost10: lost(0.1),
  };
}

/** @param {string} name @param {number} pages @param {Record<string, number>} found */
function print(name, pages, found) {
  const cells = Object.values(found).map((value) => (Number.isNaN(value) ? '-' : (100 * value).toFixed(1)));
  console.log(`${name.padEnd(32)}${String(pages).padStart(6)}${cells.map((cell) => cell.padStart(10)).join('')}`);
}

/** @param {string} group @returns {Record<string, number>} figures of all its sets */
function scoreGroup(group) {
  const all = /** @type {Counts} */ ({});
  const allLosses = /** @type {number[]} */ ([]);
  for (const set of SETS[group] ?? []) {
    const counts = /** @type {Counts} */ ({});
    const losses = [];
    for (const file of pagesOf(set, Number(options['per-set']))) {
      const page = scorePage(set, file);
      if (page?.words === undefined) continue;
      add(counts, page);
      const loss = 1 - page.words.kept / page.words.wanted;
      losses.push(loss);
      if (options.lost && loss > 0.01) console.log(`  lost ${(100 * loss).toFixed(1)} % of ${file}`);
    }
    print(set.name, losses.length, figures(counts, losses));
    add(all, counts);
    allLosses.push(...losses);
  }
  const found = figures(all, allLosses);
  print(`all ${group}`, allLosses.length, found);
  return found;
}

const COLUMNS = ['recall', 'precision', 'headings', 'items', 'rows', 'code', 'images', 'lost > 1', 'lost > 10'];
console.log(`${'per cent'.padEnd(32)}${'pages'.padStart(6)}${COLUMNS.map((name) => name.padStart(10)).join('')}`);
for (const group of options.sets === undefined ? Object.keys(SETS) : [options.sets]) {
  const found = /** @type {Record<string, number>} */ (scoreGroup(group));
  for (const limit of options.min) {
    const [name = '', least] = limit.split('=');
    if (Number(found[name]) >= Number(least)) continue;
    console.error(`${name} of ${group} is below ${least}`);
    process.exitCode = 1;
  }
}
