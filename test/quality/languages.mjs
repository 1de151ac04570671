/**
 * In which languages the labelled pages are, and how good the converter's text is on pages of each against English ones of
 * the same data set and page type.
 *
 *   node test/quality/languages.mjs [--list]     (half a minute; --list: also the pages that are not English)
 *
 * The language is that of the checked text, found by its script or its stop words, else the one that the page declares: few
 * pages have it as a label.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { buildSources } from '../../deploy/local/prepare.mjs';
import { bytesOf, labels, pagesDir, scorer, whyNoKit } from './kit.mjs';
import { declaredLanguage, isRightToLeft, languageOf } from './language-of.mjs';

/** Pages with labels of their text. */
const SETS = ['wcxb', 'aeb', 'traf', 'moz', 'defuddle'];
/**
 * @typedef {{ id: string, dataset: string, type: string, language: string, score: number, parts: Counts | null }} Scored
 * @typedef {{ tp: number, fp: number, fn: number }} Counts segments of a page
 */
const { values: options } = parseArgs({ options: { list: { type: 'boolean', default: false } } });

/** @param {string[]} args */
async function runScorer(args) {
  const child = spawn(process.execPath, [scorer, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`the scorer ended with exit code ${code}`);
}

/** Scores of all pages by the columns of the scorer's table. @returns {Promise<Map<string, Record<string, string>>>} */
async function scorePages() {
  const work = mkdtempSync(path.join(os.tmpdir(), 'troupe-languages-'));
  try {
    const part = ['--data', pagesDir, '--only', SETS.join(',')];
    const [predictions, table] = [path.join(work, 'predictions.jsonl'), path.join(work, 'pages.csv')];
    const program = `"${process.execPath}" "${path.join(import.meta.dirname, 'convert.mjs')}"`;
    await runScorer(['run', ...part, '--cmd', program, '--out', predictions]);
    await runScorer(['score', ...part, '--predictions', predictions, '--pages', table]);
    const [head = '', ...rows] = readFileSync(table, 'utf8').trim().split('\n');
    const names = head.split(',');
    const cells = rows.map((row) => row.split(','));
    return new Map(
      cells.map((row) => [String(row[0]), Object.fromEntries(names.map((name, i) => [name, row[i] ?? '']))]),
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** @param {Counts[]} counts */
function segmentF1(counts) {
  const sum = counts.reduce((a, b) => ({ tp: a.tp + b.tp, fp: a.fp + b.fp, fn: a.fn + b.fn }), { tp: 0, fp: 0, fn: 0 });
  return (2 * sum.tp) / (2 * sum.tp + sum.fp + sum.fn);
}

/** @param {Scored[]} pages of one data set and type; segments are counted over all of them, as the scorer does */
function scoreOf(pages) {
  if (pages.every(({ parts }) => parts !== null)) return segmentF1(pages.flatMap(({ parts }) => parts ?? []));
  return pages.reduce((sum, { score }) => sum + score, 0) / pages.length;
}

/** @param {any} label @param {Record<string, string> | undefined} row @returns {Scored[]} none without labels of its text */
function scored(label, row) {
  const { id, dataset, type, text, markdown } = label;
  const checked = text ?? markdown ?? [...(label.with ?? []), ...(label.without ?? [])].join('\n');
  if (row === undefined) return [];
  const found = languageOf(checked);
  const language = found === '?' ? (declaredLanguage(bytesOf(label).toString('latin1')) ?? '?') : found;
  const counts = { tp: Number(row.segTP), fp: Number(row.segFP), fn: Number(row.segFN) };
  if (dataset === 'traf')
    return row.segTP === '' ? [] : [{ id, dataset, type, language, score: segmentF1([counts]), parts: counts }];
  const score = dataset === 'aeb' ? row.shingleF1 : row.wordF1;
  return score === '' ? [] : [{ id, dataset, type, language, score: Number(score), parts: null }];
}

/**
 * @param {Scored[]} pages of one data set @param {Scored[]} english of the same one
 * @returns {{ count: number, score: number, english: number } | null} of page types that English pages have, too; weighed by pages
 */
function compare(pages, english) {
  const sums = { count: 0, score: 0, english: 0 };
  for (const type of new Set(pages.map((page) => page.type))) {
    const [own, peers] = [pages, english].map((all) => all.filter((page) => page.type === type));
    if (own === undefined || peers === undefined || peers.length === 0) continue;
    sums.count += own.length;
    sums.score += own.length * scoreOf(own);
    sums.english += own.length * scoreOf(peers);
  }
  const { count } = sums;
  return count === 0 ? null : { count, score: sums.score / count, english: sums.english / count };
}

/** @param {Scored[]} pages */
function report(pages) {
  console.log(
    `${'data set'.padEnd(12)}${'language'.padEnd(16)}${'pages'.padStart(7)}${'score'.padStart(9)}${'English'.padStart(9)}${'change'.padStart(9)}`,
  );
  for (const dataset of SETS) {
    const own = pages.filter((page) => page.dataset === dataset);
    const english = own.filter(({ language }) => language === 'en');
    const others = own.filter(({ language }) => language !== 'en' && language !== '?');
    printRow(dataset, 'en', english, english);
    const languages = [...new Set(own.map(({ language }) => language))].filter((language) => language !== 'en').sort();
    for (const language of languages)
      printRow(
        dataset,
        language,
        own.filter((page) => page.language === language),
        english,
      );
    if (others.length > 0) printRow(dataset, 'not English', others, english);
    const leftward = others.filter(({ language }) => isRightToLeft(language));
    if (leftward.length > 0) printRow(dataset, 'right to left', leftward, english);
  }
}

/** @param {string} dataset @param {string} name @param {Scored[]} pages @param {Scored[]} english */
function printRow(dataset, name, pages, english) {
  const found = compare(pages, english);
  const numbers = found === null ? [] : [found.score, found.english, found.score - found.english];
  const cells = numbers.map((value) => (100 * value).toFixed(2).padStart(9)).join('');
  console.log(`${dataset.padEnd(12)}${name.padEnd(16)}${String(pages.length).padStart(7)}${cells}`);
}

async function main() {
  const missing = whyNoKit();
  if (missing !== null) {
    console.log(missing);
    return;
  }
  await buildSources();
  const rows = await scorePages();
  const pages = labels().flatMap((label) => (SETS.includes(label.dataset) ? scored(label, rows.get(label.id)) : []));
  report(pages);
  if (!options.list) return;
  const others = pages.filter(({ language }) => language !== 'en');
  for (const { id, language, type, score } of others.sort((a, b) => a.score - b.score))
    console.log(`${language.padEnd(3)} ${(100 * score).toFixed(1).padStart(6)}  ${type.padEnd(14)} ${id}`);
}

await main();
