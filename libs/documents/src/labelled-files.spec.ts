/** The files of test/sites/documents against what their sources say: words, cells, links, structure. */
import { describe, expect, it } from '@jest/globals';
import { DEFAULT_PDF, type DocumentContent, PLAIN_PAGE } from '@troupe/contracts';
import { readFile } from 'node:fs/promises';
import { documentKindOf } from './document-kind.js';
import { readDocument } from './read-document.js';

const FOLDER = 'test/sites/documents';
const MIN_WORD_RECALL = 0.98;
const MIN_CELL_RECALL = 0.95;

interface Label {
  files: string[];
  title: string;
  author: string;
  text: string;
  tables: string[][];
  links: string[];
  headings: string[];
  /** Texts that must not be read. */
  absent: string[];
}

const labels = JSON.parse(await readFile(`${FOLDER}/office-labels.json`, 'utf8')) as Label[];
const cases = labels.flatMap(({ files, ...label }) => files.map((file) => ({ file, ...label })));

async function read(file: string): Promise<DocumentContent> {
  const body = new Uint8Array(await readFile(`${FOLDER}/files/${file}`));
  const kind = documentKindOf({ body, contentType: 'application/octet-stream', url: 'http://site.test/file' });
  if (kind === null) throw new Error(`${file} was not recognised`);
  const parsers = { ...PLAIN_PAGE.parsers, pdf: DEFAULT_PDF };
  const content = await readDocument({ kind, body, text: () => '', parsers, timeoutMs: 30_000, ocr: null });
  if (content === null) throw new Error(`${file} is no document`);
  return content;
}

const plain = (html: string): string =>
  html
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&amp;', '&')
    .replaceAll('&lt;', '<')
    .replaceAll('&quot;', '"')
    .replace(/\s+/g, ' ')
    .trim();

const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}]+/gu) ?? [];

function recall(wanted: readonly string[], found: readonly string[]): number {
  const left = new Map<string, number>();
  for (const one of found) left.set(one, (left.get(one) ?? 0) + 1);
  const hits = wanted.filter((one) => {
    const count = left.get(one) ?? 0;
    left.set(one, count - 1);
    return count > 0;
  });
  return hits.length / wanted.length;
}

const rowsOf = (html: string): string[][] =>
  [...html.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<t[dh][^>]*>(.*?)<\/t[dh]>/gs)].map(([, cell = '']) => plain(cell)),
  );

const cellsOf = (rows: readonly string[][]): string[] =>
  rows.flatMap((row) => [`${row[0] ?? ''} of ${row.length}`, ...row.map((cell) => `${row[0] ?? ''}: ${cell}`)]);

describe.each(cases)('$file', ({ file, title, author, text, tables, links, headings, absent }) => {
  it('keeps its words and the cells of its tables in their rows', async () => {
    const html = (await read(file)).parts.join('\n');
    const words = recall(wordsOf(text), wordsOf(plain(html)));
    const cells = recall(cellsOf(tables), cellsOf(rowsOf(html)));
    process.stderr.write(`${file}: word recall ${words.toFixed(3)}, cells ${cells.toFixed(3)}\n`);
    expect(words).toBeGreaterThanOrEqual(MIN_WORD_RECALL);
    expect(cells).toBeGreaterThanOrEqual(MIN_CELL_RECALL);
    for (const secret of absent) expect(plain(html)).not.toContain(secret);
  });

  it('keeps headings, links and what is told about it', async () => {
    const content = await read(file);
    const html = content.parts.join('\n');
    const found = [...html.matchAll(/<h[1-6][^>]*>(.*?)<\/h[1-6]>/gs)].map(([, heading = '']) => plain(heading));
    expect(found.filter((heading) => headings.includes(heading))).toEqual(headings);
    const targets = [...html.matchAll(/<a href="(http[^"]*)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));
    expect(targets).toEqual(links);
    expect(content.title).toBe(title);
    expect(content.metadata.author).toBe(author);
  });
});
