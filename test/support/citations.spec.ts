/** The targets of comments and documents exist: files, headings, decisions, and the functions of the walk of a page. */
import { expect, it } from '@jest/globals';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { workspace } from './cluster.js';

const ROOMS = ['apps', 'libs', 'test', 'deploy', 'helm', 'docs', '.ci'];
const TEXT = /\.(ts|mjs|cjs|md|yaml|yml|tpl|wat|sh|py)$/;
const NOT_OURS = new Set(['node_modules', 'dist', 'results', 'sites', '__pycache__']);
/** Its fixtures cite what is not there. */
const ITSELF = 'test/support/citations.spec.ts';
/** Names of pages that a crawl writes, shown as examples. */
const EXAMPLES = new Set(['host/path/to/page.md', 'index.md']);

const CITED_FILE = /(?<![\w/:.~-])([\w.~/-]+\.md)\b(?:#([\w-]+))?/g;
const SECTIONS = /^[`)\]]*,?\s*((?:"[^"]+"|§\d+(?:-\d+)?)(?:(?:,| and)? (?:"[^"]+"|§\d+(?:-\d+)?))*)/;
const CITED_DECISION = /(?:\bADR |\badr\/)(\d{4})(?!\d|-\w)/g;
const CITED_CODE =
  /`((?:apps|libs|test|deploy|helm)\/[\w./-]+\.(?:ts|mjs|wat|yaml|json))`(?:: ((?:`[\w#]+`(?:, )?)+))?/g;

interface Place {
  root: string;
  /** Relative to `root`. */
  file: string;
  lines: string[];
}

function filesBelow(root: string, folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : filesBelow(root, name);
    return TEXT.test(entry.name) || folder === '.ci' ? [name] : [];
  });
}

function ownFiles(root: string): string[] {
  const ofRoot = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isFile() && TEXT.test(entry.name));
  const rooms = ROOMS.filter((room) => existsSync(path.join(root, room)));
  return [...ofRoot.map((entry) => entry.name), ...rooms.flatMap((room) => filesBelow(root, room))];
}

/** The text of a line that people read; in code a citation outside of comments is one when it names a folder of documents. */
function saidIn(file: string, line: string): string {
  if (/\.(md|ya?ml)$/.test(file)) return line;
  const comment = /^\s*(?:\/\*|\*|\/\/|#|;;).*$|\s(?:\/\/|\/\*\*) .*$/.exec(line);
  if (comment !== null) return comment[0];
  return [...line.matchAll(/(?<![\w/:.~-])(?:docs|design|spec|review)\/[\w./-]+\.md\b/g)]
    .map(([cited]) => cited)
    .join(' ');
}

function resolved({ root, file }: Place, cited: string): string | null {
  const candidates = [path.join(root, path.dirname(file), cited), path.join(root, cited)];
  return candidates.find((candidate) => existsSync(candidate)) ?? null;
}

function headingsOf(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/^#{1,6} +(.+?) *$/gm);
  return [...found].map(([, heading]) => heading!.replace(/`|\[([^\]]*)\]\([^)]*\)/g, '$1'));
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

/** The sections that follow a citation, on the next line too when the first one ends amid them. */
function sectionsAfter(lines: string[], index: number, rest: string): string[] {
  const goesOn = /^[`)\]]*,?\s*(?:"[^"]*",?\s*)*(?:"[^"]*)?$/.test(rest) && rest.includes(',');
  const next = (lines[index + 1] ?? '').replace(/^\s*(?:\*|\/\/|#) ?/, '');
  const said = SECTIONS.exec(goesOn ? `${rest.trimEnd()} ${next}` : rest)?.[1] ?? '';
  return said.match(/"[^"]+"|§\d+/g) ?? [];
}

function hasSection(headings: string[], section: string): boolean {
  const wanted = section.replace(/"/g, '');
  if (!wanted.startsWith('§')) return headings.includes(wanted);
  return headings.some((heading) => heading.startsWith(`${wanted.slice(1)}.`));
}

function faultsOfDocuments(place: Place): string[] {
  const { lines, file } = place;
  return lines.flatMap((line, index) => {
    const at = `${file}:${index + 1}`;
    const said = saidIn(file, line);
    const faults: string[] = [];
    for (const match of said.matchAll(CITED_FILE)) {
      const [whole, cited, anchor] = match;
      if (EXAMPLES.has(cited!)) continue;
      const target = resolved(place, cited!);
      if (target === null) {
        faults.push(`${at} cites ${cited}, which is not in the repository`);
        continue;
      }
      const headings = headingsOf(target);
      for (const section of sectionsAfter(lines, index, said.slice(match.index + whole.length)))
        if (!hasSection(headings, section)) faults.push(`${at} cites ${cited}, ${section}, which is no heading there`);
      if (anchor !== undefined && !headings.some((heading) => anchorOf(heading) === anchor))
        faults.push(`${at} cites ${cited}#${anchor}, which is no heading there`);
    }
    return faults;
  });
}

function faultsOfDecisions({ root, file, lines }: Place): string[] {
  const decisions = readdirSync(path.join(root, 'docs/adr'));
  return lines.flatMap((line, index) =>
    [...saidIn(file, line).matchAll(CITED_DECISION)]
      .filter(([, number]) => !decisions.some((name) => name.startsWith(`${number}-`)))
      .map(([, number]) => `${file}:${index + 1} cites decision ${number}, which is not in docs/adr`),
  );
}

/** `` `path/of/file.ts`: `function` ``: both are there. */
function faultsOfCode({ root, file, lines }: Place): string[] {
  if (!file.startsWith('docs/')) return [];
  return lines.flatMap((line, index) =>
    [...line.matchAll(CITED_CODE)].flatMap(([, cited, names]) => {
      const at = `${file}:${index + 1}`;
      if (!existsSync(path.join(root, cited!))) return [`${at} names ${cited}, which is not in the repository`];
      const source = readFileSync(path.join(root, cited!), 'utf8');
      return (names?.match(/[\w#]+/g) ?? [])
        .filter((name) => !new RegExp(`(?<!\\w)${name}(?!\\w)`).test(source))
        .map((name) => `${at} names ${name} of ${cited}, which is not there`);
    }),
  );
}

function faultsOf(root: string): string[] {
  return ownFiles(root)
    .filter((file) => file !== ITSELF)
    .flatMap((file) => {
      const place = { root, file, lines: readFileSync(path.join(root, file), 'utf8').split('\n') };
      return [...faultsOfDocuments(place), ...faultsOfDecisions(place), ...faultsOfCode(place)];
    });
}

it('every document, heading and decision that a comment or a document cites is in the repository', () => {
  expect(faultsOf(workspace)).toEqual([]);
});

it('a citation of what is not there is told with its file and line', () => {
  const root = mkdtempSync(path.join(os.tmpdir(), 'troupe-citations-'));
  const write = (file: string, text: string): void => {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  };
  try {
    write('docs/api/own.md', '# Own\n\n## Admin calls\n');
    write('docs/adr/0001-one.md', '# One\n');
    write(
      'docs/walk.md',
      'First `apps/a/code.ts`: `known`, `gone`, then `apps/a/none.ts`.\n[x](api/own.md#admin-calls)\n',
    );
    write('apps/a/long.ts', '/**\n * It is said elsewhere (docs/api/own.md,\n * "Lost").\n */\n');
    const cites = ['docs/api/own.md, "Admin calls"', 'docs/api/own.md, "Gone"', 'spec/own.md', 'docs/api/own.md §3'];
    write(
      'apps/a/code.ts',
      `${cites.map((cite) => `/** See (${cite}). */\n`).join('')}// ADR 0001, ADR 0002\nknown('a/b.md');\n`,
    );
    expect(faultsOf(root).sort()).toEqual([
      'apps/a/code.ts:2 cites docs/api/own.md, "Gone", which is no heading there',
      'apps/a/code.ts:3 cites spec/own.md, which is not in the repository',
      'apps/a/code.ts:4 cites docs/api/own.md, §3, which is no heading there',
      'apps/a/code.ts:5 cites decision 0002, which is not in docs/adr',
      'apps/a/long.ts:2 cites docs/api/own.md, "Lost", which is no heading there',
      'docs/walk.md:1 names apps/a/none.ts, which is not in the repository',
      'docs/walk.md:1 names gone of apps/a/code.ts, which is not there',
    ]);
  } finally {
    rmSync(root, { recursive: true });
  }
});

function foldersIn(room: string): string[] {
  return readdirSync(path.join(workspace, room), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
    .map((entry) => entry.name);
}

it('every folder of apps, libs, test and deploy is named in the map of rooms', () => {
  const texts = ['README.md', 'docs/architecture.md'].map((file) => readFileSync(path.join(workspace, file), 'utf8'));
  const folders = ['apps', 'libs', 'test', 'deploy'].flatMap((room) =>
    foldersIn(room).map((name) => `${room}/${name}`),
  );
  const isNamed = (folder: string) => texts.some((text) => new RegExp(`(?<![\\w/])${folder}(?![\\w-])`).test(text));
  expect(folders.filter((folder) => !isNamed(folder))).toEqual([]);
});

it('every app and library has a README, which names the folders of its sources', () => {
  const rooms = ['apps', 'libs'].flatMap((room) => foldersIn(room).map((name) => `${room}/${name}`));
  const missing = rooms.flatMap((room) => {
    const readme = path.join(workspace, room, 'README.md');
    if (!existsSync(readme)) return [`${room}/README.md`];
    const text = readFileSync(readme, 'utf8');
    const isNamed = (name: string) =>
      text.includes(`\`${name}\``) || text.includes(`\`${name}/`) || text.includes(`/${name}\``);
    return foldersIn(`${room}/src`)
      .filter((name) => !isNamed(name))
      .map((name) => `${room}/src/${name}`);
  });
  expect(missing).toEqual([]);
});
