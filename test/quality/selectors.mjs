/**
 * Selectors on the labelled pages of the kit (`selectors.json`): title, author and date must be what people read there, and
 * tables what is labelled of them.
 *
 *   node test/quality/selectors.mjs [--json]     (after `npm run build`)
 */
import { readFileSync } from 'node:fs';
import { bytesOf, compiled, labels, whyNoKit } from './kit.mjs';

const WORD = /[\p{L}\p{N}_]+/gu;
/** Labels hold so many cells of a table at most. */
const MOST_CELLS = 60;
const ISO_DAY = 10;

/** As the labels write cells. @param {string} text */
const wordsOf = (text) => (text.toLowerCase().match(WORD) ?? []).join(' ');
/** @param {string} text */
const collapsed = (text) => text.replace(/\s+/g, ' ').trim();

/** @param {any} page @param {unknown} wire selectors as people write them */
function pick({ readSelectors, pickFacts, decodeBody }, page, wire) {
  const read = readSelectors(wire);
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  const { value, warnings } = pickFacts(decodeBody(bytesOf(page), 'text/html', false), page.url, read.schema);
  if (warnings.length > 0) throw new Error(`${page.id}: ${warnings.join(' ')}`);
  return value;
}

/** @param {any} lib @param {Map<string, any>} pages */
function wrongFacts(lib, pages) {
  const { facts } = JSON.parse(readFileSync(new URL('selectors.json', import.meta.url), 'utf8'));
  const sites = new Set();
  const wrong = [];
  for (const { id, title, author, date } of facts) {
    const page = pages.get(id);
    sites.add(page.site);
    const found = pick(lib, page, { title, author, date: { selector: date, type: 'date' } });
    const { meta } = page;
    const wanted = { title: collapsed(meta.title), author: collapsed(meta.author), date: meta.date.slice(0, ISO_DAY) };
    if (JSON.stringify(found) !== JSON.stringify(wanted)) wrong.push({ id, found, wanted });
  }
  return { facts: facts.length, sites: sites.size, wrong };
}

/** @param {any} lib @param {Map<string, any>} pages */
function wrongTables(lib, pages) {
  const { tables } = JSON.parse(readFileSync(new URL('selectors.json', import.meta.url), 'utf8'));
  const wrong = [];
  for (const { id, table, rows } of tables) {
    const found = pick(lib, pages.get(id), [{ $: rows, cells: ['th, td'] }]);
    const cells = found.flatMap((row) => row.cells.map(wordsOf)).filter((text) => text !== '');
    const wanted = pages.get(id).structure.tables[table];
    const isCut = wanted.cells.length >= MOST_CELLS;
    const same = JSON.stringify(isCut ? cells.slice(0, wanted.cells.length) : cells) === JSON.stringify(wanted.cells);
    if (found.length !== wanted.rows || !same) wrong.push({ id, found: cells, wanted: wanted.cells });
  }
  return { tables: tables.length, wrong };
}

const missing = whyNoKit();
if (missing !== null) {
  console.log(`SKIPPED: ${missing}`);
} else {
  const lib = { ...(await compiled('content/index.js')), ...(await compiled('content/charset.js')) };
  const pages = new Map(labels().map((page) => [page.id, page]));
  const { facts, sites, wrong } = wrongFacts(lib, pages);
  const { tables, wrong: ofTables } = wrongTables(lib, pages);
  const result = { facts, sites, tables, wrong: [...wrong, ...ofTables] };
  if (process.argv.includes('--json')) console.log(JSON.stringify(result));
  else {
    for (const one of result.wrong) console.log(JSON.stringify(one));
    console.log(
      `title, author and date of ${facts} pages of ${sites} sites, tables of ${tables} pages: ${result.wrong.length} wrong`,
    );
    process.exitCode = result.wrong.length === 0 ? 0 : 1;
  }
}
