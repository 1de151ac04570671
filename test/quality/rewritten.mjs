/**
 * Whether the main content is found as well in scripts of which there are few labelled pages: English pages, as they are and
 * with each word written in another script.
 *
 *   node test/quality/rewritten.mjs     (a minute and a half; needs what `npm run quality:train` needs)
 *
 * Forests judge that have not seen the page's site. The score is F1 of characters over blocks against their labels, mean over pages; of WCXB over page types.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { buildSources } from '../../deploy/local/prepare.mjs';
import { unseenModels } from './folds.mjs';
import { bytesOf, compiled, labels } from './kit.mjs';
import { languageOf } from './language-of.mjs';
import { labelledPages, runTrainer, whyNoTraining } from './training.mjs';

/** References stay; a space between words and what ends or parts sentences is written as the script does. */
const PARTS = /&#?\w+;|(?<word>[A-Za-z][A-Za-z'’]*)(?<space> (?=[A-Za-z]))?|(?<end>[.!?]) ?|(?<comma>, )/g;
/**
 * @typedef {{ from: number, letters: number, charsOf(word: string): number, space: string, end: string, question: string, comma: string }} Script
 */
const SCRIPTS = /** @type {Record<string, Script>} */ ({
  Chinese: {
    from: 0x4e00,
    letters: 20_000,
    charsOf: (word) => (word.length > 3 ? 2 : 1),
    space: '',
    end: '。',
    question: '？',
    comma: '，',
  },
  Thai: { from: 0x0e01, letters: 46, charsOf: (word) => word.length, space: '', end: ' ', question: ' ', comma: ' ' },
  Arabic: {
    from: 0x0621,
    letters: 26,
    charsOf: (word) => word.length,
    space: ' ',
    end: '. ',
    question: '؟ ',
    comma: '، ',
  },
});
const SETS = ['wcxb', 'aeb'];
/** @typedef {{ group: string, scores: number[] }} Row scores as written, then in each script */

/** The same word gives the same characters. @param {string} word @param {Script} script */
function rewriteWord(word, { from, letters, charsOf }) {
  const small = word.toLowerCase();
  return Array.from({ length: charsOf(word) }, (_, place) => {
    let hash = place;
    for (const letter of small.slice(0, place + 3)) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
    return String.fromCharCode(from + (hash % letters));
  }).join('');
}

/** @param {string} text @param {Script} script */
function rewrite(text, script) {
  return text.replace(PARTS, (whole, word, space, end, comma) => {
    if (word !== undefined) return rewriteWord(word, script) + (space === undefined ? '' : script.space);
    if (end !== undefined) return end === '?' ? script.question : script.end;
    return comma === undefined ? whole : script.comma;
  });
}

/** @param {ReturnType<typeof unseenModels>} models @returns {Promise<(page: any, own: ArrayLike<number>, html: string) => number[] | null>} null for a page that cannot be compared */
async function comparer(models) {
  const { parseHtml } = await compiled('html/parse.js');
  const { wholePage } = await compiled('main-content/selection.js');
  const { measure } = await compiled('html/measures.js');
  const { Blocks } = await compiled('main-content/blocks.js');
  const { selectMainContent } = await compiled('main-content/main-content.js');
  const { KEEP } = await compiled('html/mask.js');
  const { T, TEXT } = await compiled('html/tags.js');

  /** @param {any} tree @param {Script} script @returns {string} */
  const rewritePage = (tree, script) => {
    let html = '';
    let at = 0;
    for (let node = 1; node < tree.count; node++) {
      const up = tree.tag[tree.parent[node]];
      if (tree.tag[node] !== TEXT || up === T.script || up === T.style || tree.from[node] < at) continue;
      html +=
        tree.source.slice(at, tree.from[node]) + rewrite(tree.source.slice(tree.from[node], tree.to[node]), script);
      at = tree.to[node];
    }
    return html + tree.source.slice(at);
  };
  return (page, own, html) => {
    const first = parseHtml(html);
    const trees = [first, ...Object.values(SCRIPTS).map((script) => parseHtml(rewritePage(first, script)))];
    let chars = /** @type {Int32Array | null} */ (null);
    const scores = [];
    for (const tree of trees) {
      const mask = wholePage(tree);
      const texts = measure(tree, mask);
      const blocks = new Blocks(tree, mask, texts);
      if (blocks.count !== page.blocks.length) return null;
      const main = selectMainContent(tree, mask, texts, models.get(page.id));
      if (main === null) return null;
      const kept = page.blocks.map(
        (/** @type {string} */ _, /** @type {number} */ i) => main.mask[blocks.first[i]] === KEEP,
      );
      chars ??= blocks.chars;
      scores.push(blockF1(kept, own, /** @type {Int32Array} */ (chars)));
    }
    return scores;
  };
}

/** @param {boolean[]} kept @param {ArrayLike<number>} labels share of each block that is content, below 0 unknown @param {Int32Array} chars */
function blockF1(kept, labels, chars) {
  let [right, shown, wanted] = [0, 0, 0];
  kept.forEach((isKept, block) => {
    const label = Number(labels[block]);
    if (label < 0) return;
    const size = Number(chars[block]);
    wanted += size * label;
    if (!isKept) return;
    shown += size;
    right += size * label;
  });
  return shown + wanted === 0 ? 1 : (2 * right) / (shown + wanted);
}

/** @param {number[][]} rows @returns {number[]} */
const meanOf = (rows) =>
  (rows[0] ?? []).map((_, i) => rows.reduce((sum, row) => sum + Number(row[i]), 0) / rows.length);

/** @param {Row[]} rows */
function report(rows) {
  /** @param {string} name @param {number} pages @param {number[]} scores */
  const print = (name, pages, scores) => {
    const cells = scores.map((score) => (100 * score).toFixed(2).padStart(10)).join('');
    console.log(`${name.padEnd(20)}${String(pages).padStart(6)}${cells}`);
  };
  console.log(
    `${''.padEnd(20)} pages${['as written', ...Object.keys(SCRIPTS)].map((name) => name.padStart(10)).join('')}`,
  );
  const means = [...new Set(rows.map(({ group }) => group))].sort().map((group) => {
    const scores = rows.filter((row) => row.group === group).map((row) => row.scores);
    print(group, scores.length, meanOf(scores));
    return { group, scores: meanOf(scores) };
  });
  const ofTypes = means.filter(({ group }) => group.startsWith('wcxb'));
  print(
    'wcxb, mean',
    rows.filter(({ group }) => group.startsWith('wcxb')).length,
    meanOf(ofTypes.map(({ scores }) => scores)),
  );
}

/** @param {string} work */
async function measureAll(work) {
  await runTrainer(work, ['--model', path.join(work, 'model.ts')]);
  const label = new Map(labels().map((one) => [one.id, one]));
  const compare = await comparer(unseenModels(work));
  const rows = [];
  for await (const { page, own } of labelledPages(work)) {
    const source = label.get(page.id);
    if (source === undefined || !SETS.includes(page.dataset) || languageOf(page.text) !== 'en') continue;
    const scores = compare(page, own, bytesOf(source).toString());
    if (scores !== null) rows.push({ group: `${page.dataset} ${page.type}`, scores });
  }
  report(rows);
}

async function main() {
  const missing = whyNoTraining();
  if (missing !== null) {
    console.error(`SKIPPED: ${missing}`);
    return;
  }
  await buildSources();
  const work = mkdtempSync(path.join(os.tmpdir(), 'troupe-rewritten-'));
  try {
    await measureAll(work);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

await main();
