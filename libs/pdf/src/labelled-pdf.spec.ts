import { afterAll, describe, expect, test } from '@jest/globals';
/** PDFs of a browser and an office program whose content is known (test/sites/documents). Figures of all files are printed. */
import { diffArrays } from 'diff';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { DEFAULT_PDF } from '@troupe/contracts';
import { parse } from 'parse5';
import { readPdf } from './read-pdf.js';

interface Labels {
  text: string;
  headings: [number, string][];
  tables: string[][][];
  lists: string[][];
  code: string[];
}

interface Node {
  nodeName: string;
  value?: string;
  childNodes?: Node[];
}

const folder = path.resolve('test/sites/documents');
const labels = JSON.parse(readFileSync(path.join(folder, 'labels.json'), 'utf8')) as Record<string, Labels>;
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.pdf'))
  .sort();

function find(node: Node, names: readonly string[]): Node[] {
  const own = names.includes(node.nodeName) ? [node] : [];
  return [...own, ...(node.childNodes ?? []).flatMap((child) => find(child, names))];
}

const BLOCKS = /^(?:p|h\d|li|td|th|tr|pre|table|ul|ol|br)$/;

function textOf(node: Node): string {
  if (node.value !== undefined) return node.value;
  const inside = (node.childNodes ?? []).map(textOf).join('');
  return BLOCKS.test(node.nodeName) ? ` ${inside} ` : inside;
}

const clean = (text: string) => text.replace(/\s+/g, ' ').trim();
const wordsOf = (text: string) => text.match(/[\p{L}\p{N}.:]+/gu) ?? [];

/** The text of a list item without the lists inside of it. */
function itemText(item: Node): string {
  const own = (item.childNodes ?? []).filter((child) => child.nodeName !== 'ul' && child.nodeName !== 'ol');
  return clean(own.map(textOf).join(''));
}

function share(part: number, whole: number): number {
  return whole === 0 ? 1 : part / whole;
}

function cellShare(wanted: readonly string[][][], found: readonly string[][][]): number {
  let right = 0;
  let all = 0;
  for (const [t, table] of wanted.entries()) {
    for (const [r, row] of table.entries()) {
      for (const [c, cell] of row.entries()) {
        all++;
        if (found[t]?.[r]?.[c] === cell) right++;
      }
    }
  }
  return share(right, all);
}

async function measure(file: string) {
  const wanted = labels[file.split('-')[0]!]!;
  const content = await readPdf(readFileSync(path.join(folder, file)), DEFAULT_PDF, { timeoutMs: 60_000, ocr: null });
  const root = parse(content.parts.join('\n')) as Node;
  const words = wordsOf(wanted.text);
  const same = diffArrays(words, wordsOf(textOf(root))).filter(({ added, removed }) => !added && !removed);
  const tables = find(root, ['table']).map((table) =>
    find(table, ['tr']).map((row) => find(row, ['td', 'th']).map((cell) => clean(textOf(cell)))),
  );
  const headings = find(root, ['h1', 'h2', 'h3', 'h4']).map((node) => clean(textOf(node)));
  const items = find(root, ['li']).map(itemText);
  const code = find(root, ['pre']).map((node) => textOf(node).trim());
  const wantedItems = wanted.lists.flat();
  return {
    ordered: share(
      same.reduce((sum, part) => sum + part.value.length, 0),
      words.length,
    ),
    extra: wordsOf(textOf(root)).length / words.length - 1,
    cells: cellShare(wanted.tables, tables),
    headings: share(wanted.headings.filter(([, text]) => headings.includes(text)).length, wanted.headings.length),
    items: share(wantedItems.filter((item) => items.includes(item)).length, wantedItems.length),
    code: share(wanted.code.filter((text) => code.includes(text)).length, wanted.code.length),
    tables: tables.length,
  };
}

describe('PDFs whose content is known', () => {
  const lines = ['ordered  extra  cells  headings  items  code  file'];
  afterAll(() => void process.stderr.write(`${lines.join('\n')}\n`));

  test('there are PDFs of both programs', () => {
    expect(files.filter((file) => file.includes('-browser-')).length).toBeGreaterThanOrEqual(10);
    expect(files.filter((file) => file.includes('-office-')).length).toBeGreaterThanOrEqual(8);
  });

  test.each(files)('%s arrives with its words in order, and its cells, headings, lists and code', async (file) => {
    const found = await measure(file);
    const figures = [found.ordered, found.extra, found.cells, found.headings, found.items, found.code];
    lines.push(`${figures.map((figure) => figure.toFixed(3)).join('  ')}  ${file}`);
    expect(found.ordered).toBeGreaterThanOrEqual(0.98);
    expect(found.extra).toBeLessThan(0.02);
    expect(found.cells).toBeGreaterThanOrEqual(0.95);
    expect(found.headings).toBe(1);
    expect(found.items).toBe(1);
    expect(found.code).toBe(1);
  });
});
