/** What surrounds the training of the model, without the labelled pages: arguments, missing parts, labels against structure. */
import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { workspace } from '../support/cluster.js';

const load = (file: string): Promise<unknown> =>
  import(pathToFileURL(path.join(workspace, 'test/quality', file)).href) as Promise<unknown>;

interface LabelledPage {
  id: string;
  dataset: string;
  type: string;
  blocks: string[];
  landmarks: (string | null)[];
  body: { name: string; from: number; to: number } | null;
}
interface Contradiction {
  kind: string;
  where: string;
  block: number;
  words: number;
  text: string;
}
const { readBlocks } = (await load('page-blocks.mjs')) as {
  readBlocks(html: string): { texts: string[]; landmarks: (string | null)[]; body: LabelledPage['body'] };
};
const { findContradictions, contradictionReport } = (await load('contradictions.mjs')) as {
  findContradictions(page: LabelledPage, labels: number[]): Contradiction[];
  contradictionReport(all: Contradiction[]): string;
};
const { languageOf, declaredLanguage, isRightToLeft } = (await load('language-of.mjs')) as {
  languageOf(text: string): string;
  declaredLanguage(html: string): string | null;
  isRightToLeft(language: string): boolean;
};

function train(args: string[], env: NodeJS.ProcessEnv = {}): { status: number | null; stdout: string; stderr: string } {
  const script = path.join(workspace, 'test/quality/train.mjs');
  return spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', env: { ...process.env, ...env } });
}

function pageOf(html: string): LabelledPage {
  const { texts, landmarks, body } = readBlocks(html);
  return { id: 'page-1', dataset: 'own', type: 'article', blocks: texts, landmarks, body };
}

const KNOWN = [1, 1, 1, 0, 0.2, -1, 0, 1, 0, 0];
const PAGE = pageOf(`<nav><p>Guide to tides</p></nav>
  <main><h1>Tides</h1><p>First part</p><p>Left out amid it</p><p>Half of it, perhaps</p><p>Not known</p>
  <aside><p>Rightly left out</p></aside><p>Last part</p><p>After the end</p></main><footer><p>Imprint</p></footer>`);

describe('labels against structure', () => {
  it('finds content in landmarks and what is left out between kept blocks of the body', () => {
    expect(PAGE.body).toEqual({ name: 'main', from: 1, to: 9 });
    const found = findContradictions(PAGE, KNOWN).map(({ kind, where, block, words }) => ({
      kind,
      where,
      block,
      words,
    }));
    expect(found).toEqual([
      { kind: 'content', where: 'nav', block: 0, words: 3 },
      { kind: 'gap', where: 'main', block: 3, words: 4 },
      { kind: 'gap', where: 'main', block: 4, words: 4 },
    ]);
  });

  it('finds nothing in labels that follow the structure, nor gaps where several articles may be the body', () => {
    expect(findContradictions(PAGE, [0, 1, 1, 1, 1, 1, 0, 1, 0, 0])).toEqual([]);
    const page = pageOf('<article><p>One</p><p>Two</p><p>Three</p></article><article><p>Four</p></article>');
    expect(page.body).toBeNull();
    expect(findContradictions(page, [1, 0, 1, 1])).toEqual([]);
  });

  it('prefers the only article to the main around it', () => {
    expect(pageOf('<main><p>Path</p><article><p>One</p><p>Two</p></article></main>').body).toEqual({
      name: 'article',
      from: 1,
      to: 3,
    });
  });

  it('is counted by data set and page type, with the pages', () => {
    const report = contradictionReport(findContradictions(PAGE, KNOWN));
    expect(report).toMatch(/^own\/article +1 +0 +0 +2 +11 +1$/m);
    expect(report).toContain('Content inside of nav, footer or aside, blocks per page:\n  own/article: page-1 (1)');
    expect(report).toContain('No content amid the body, blocks per page:\n  own/article: page-1 (2)');
  });
});

describe('npm run quality:train', () => {
  it('says what it does', () => {
    const { status, stdout } = train(['--help']);
    expect(status).toBe(0);
    expect(stdout).toContain('libs/main-content/src/block-model.data.ts');
  });

  it.each([
    [['--fast'], "Unknown option '--fast'"],
    [['--check', '--out', 'x.ts'], '--check writes nothing'],
    [['--contradictions', '--check'], '--contradictions trains nothing'],
    [['--report', 'x.jsonl'], '--report goes with --contradictions'],
  ])('refuses %j', (args, message) => {
    const { status, stderr } = train(args);
    expect(status).toBe(2);
    expect(stderr).toContain(message);
  });

  it('skips aloud without the pages, or without a Python that it can use, and leaves the model alone', () => {
    const model = path.join(workspace, 'libs/main-content/src/block-model.data.ts');
    const before = readFileSync(model, 'utf8');
    const empty = mkdtempSync(path.join(os.tmpdir(), 'troupe-no-kit-'));
    try {
      const { status, stderr } = train([], { TROUPE_QUALITY_KIT: empty });
      expect(status).toBe(0);
      expect(stderr).toContain(
        `SKIPPED: Nothing was trained: ${path.join(empty, 'dev/truth.jsonl.gz')} does not exist`,
      );
      const withoutPython = train([], { TROUPE_PYTHON: path.join(empty, 'python') });
      expect(withoutPython.status).toBe(0);
      expect(withoutPython.stderr).toContain('SKIPPED: Nothing was trained: ');
    } finally {
      rmSync(empty, { recursive: true });
    }
    expect(readFileSync(model, 'utf8')).toBe(before);
  });
});

describe('the language of a text', () => {
  it.each([
    ['en', 'The tide was at its lowest when they came to the beach, and nobody was there.'],
    ['de', 'Das Wasser ist nicht mehr da, und wir werden auf die Flut warten, die mit dem Mond kommt.'],
    ['pt', 'A equipe registrou nesta manhã o arrombamento de dois dos cinco automóveis da unidade e não há danos.'],
    ['cs', 'Moře je klidné, ale vítr, který přišel včera, byl silný, protože není léto a také prší.'],
    ['ru', 'Море было спокойным, и никто не пришёл на берег.'],
    ['zh', '大海很平静，海滩上没有人。'],
    ['ja', '海は静かで、浜辺には誰もいませんでした。'],
    ['ar', 'كان البحر هادئا ولم يكن هناك أحد على الشاطئ.'],
    ['?', 'Kona $19.99 Sumatra $15.99 Peaberry $22.00 Geisha $48.00'],
  ])('is %s', (language, text) => {
    expect(languageOf(text)).toBe(language);
  });

  it('may be declared by the page', () => {
    expect(declaredLanguage('<!doctype html><html class="x" lang="pt-BR"><body>')).toBe('pt');
    expect(declaredLanguage('<html><body lang="de">')).toBeNull();
  });

  it('tells the direction of its script', () => {
    expect(['ar', 'he', 'ru'].map(isRightToLeft)).toEqual([true, true, false]);
  });
});
