/** Preformatted text as its lines, and the language its markup names. */
import { A, DROP, F, flagsOf, type Mask, T, TEXT, type Tree } from '@troupe/html';

const GUTTER =
  /(?:^|[\s_-])(?:gutter|lineno|linenos|linenums?|line-?numbers?|line-num|linenodiv|lntd?|ln|ln-numbers?|blob-num|nums?|lineNr)(?:$|[\s_-])/i;
const CODE_CELL = /(?:^|[\s_-])(?:code|blob-code|ln-code|source)(?:$|[\s_-])/i;
/** Elements that are one line each without a line end in the text. */
const LINE = /(?:^|[\s_-])line(?:$|\s)/i;
const NAMED =
  /(?:^|\s)(?:language-|lang-|highlight-source-|highlight-text-|mw-highlight-lang-|brush:\s?|sourceCode\s+|hljs\s+(?!copy|language-)|highlight-(?!source|text|lines?\b))([^\s`]{1,30})/i;
/** Classes that stand beside the bare name of a language. */
const HIGHLIGHTER = /(?:^|\s)(?:syntaxhighlighter|highlight|prettyprint|codehilite|sourceCode)(?:$|\s)/i;
const TRAILING_SIGN = /[;:,]{1,9}$/;
const NAME = /^[\w+#.-]{1,30}$/;
const BARE_NAMES = new Set(
  (
    'bash c cpp c++ c# csharp css dart diff dockerfile elixir erlang go golang graphql haskell html http ini java javascript js json ' +
    'jsx julia kotlin latex less lua makefile markdown matlab nginx objc objectivec perl php powershell py python r ruby ' +
    'rust scala scss sh shell sql swift toml ts tsx typescript vim xml yaml yml zig'
  ).split(' '),
);
const NO_LANGUAGE = new Set([
  'none',
  'plain',
  'plaintext',
  'text',
  'txt',
  'nohighlight',
  'no-highlight',
  'default',
  'auto',
]);
const NBSP = /\u00a0/g;
const MAX_CLASS_CHARS = 500;

/** Lines of code below `root` without empty ones at either end; none when it holds only line numbers or nothing. */
export function codeLines(tree: Tree, mask: Mask, root: number): string[] {
  const reader = new SourceReader(tree, mask);
  let text = reader.read(root, false);
  if (reader.lineElements > 1 && !text.includes('\n')) text = new SourceReader(tree, mask).read(root, true);
  const lines = text.replace(/\r\n?/g, '\n').replace(NBSP, ' ').split('\n');
  let from = 0;
  let to = lines.length;
  while (from < to && lines[from]!.trim() === '') from++;
  while (to > from && lines[to - 1]!.trim() === '') to--;
  const kept = lines.slice(from, to);
  return isNumbering(kept) ? [] : kept;
}

/** 1, 2, 3 … and at least two of them: the gutter of another block. */
function isNumbering(lines: readonly string[]): boolean {
  if (lines.length < 2) return false;
  const first = Number(lines[0]);
  return Number.isInteger(first) && lines.every((line, index) => line.trim() !== '' && Number(line) === first + index);
}

class SourceReader {
  /** Elements that look like a line each. */
  lineElements = 0;
  private readonly parts: string[] = [];
  private atLineStart = true;

  constructor(
    private readonly tree: Tree,
    private readonly mask: Mask,
  ) {}

  /** @param splitLines line elements end their line */
  read(root: number, splitLines: boolean): string {
    this.visit(root, splitLines);
    return this.parts.join('');
  }

  private visit(parent: number, splitLines: boolean): void {
    const { tree, mask } = this;
    for (let child = parent + 1, to = tree.end[parent]!; child < to; child = tree.end[child]!) {
      if (mask[child] === DROP) continue;
      const tag = tree.tag[child]!;
      if (tag === TEXT) this.push(tree.text(child));
      else if (tag === T.br) this.push('\n');
      else if (!isNoCode(tag) && !isGutter(tree, child)) this.element(child, tag, splitLines);
    }
  }

  private element(node: number, tag: number, splitLines: boolean): void {
    const isBlock = (flagsOf(tag) & F.block) !== 0 && tag !== T.td && tag !== T.th;
    const isLine = !isBlock && this.isLineElement(node, tag);
    if (isLine) this.lineElements++;
    const ends = isBlock || (isLine && splitLines);
    if (ends) this.endLine();
    this.visit(node, splitLines);
    if (ends) this.endLine();
  }

  private isLineElement(node: number, tag: number): boolean {
    if (tag === T.code) return true;
    const names = this.tree.attr(node, A.class);
    return names !== null && LINE.test(names.slice(0, MAX_CLASS_CHARS));
  }

  private endLine(): void {
    if (!this.atLineStart) this.push('\n');
  }

  private push(text: string): void {
    if (text === '') return;
    this.parts.push(text);
    this.atLineStart = text.charCodeAt(text.length - 1) === 10;
  }
}

function isNoCode(tag: number): boolean {
  return tag === T.button || tag === T.svg || tag === T.textarea || tag === T.select || tag === T.input;
}

function classOf(tree: Tree, node: number): string {
  const names = tree.attr(node, A.class);
  return names === null ? '' : names.slice(0, MAX_CLASS_CHARS);
}

/** Line numbers beside code: named so, and with nothing but numbers and signs. */
function isGutter(tree: Tree, node: number): boolean {
  if (tree.attrIndex(node, A.dataLineNumber) >= 0 && isBlankOrNumbers(tree, node)) return true;
  const names = classOf(tree, node);
  return names !== '' && GUTTER.test(names) && isBlankOrNumbers(tree, node);
}

function isBlankOrNumbers(tree: Tree, root: number): boolean {
  const { source } = tree;
  for (let node = root, end = tree.end[root]!; node < end; node++) {
    if (tree.tag[node] !== TEXT) continue;
    for (let i = tree.from[node]!, to = tree.to[node]!; i < to; i++) {
      const c = source.charCodeAt(i);
      const isNumber = c <= 32 || (c >= 48 && c <= 58) || c === 46 || c === 124 || c === 43 || c === 45;
      if (!isNumber) return false;
    }
  }
  return true;
}

/** True for a table that a highlighter made: a column of line numbers beside a column of code. */
export function isCodeTable(tree: Tree, table: number): boolean {
  let hasGutter = false;
  let hasCode = false;
  let hasPre = false;
  for (let node = table + 1, end = tree.end[table]!; node < end; node++) {
    const tag = tree.tag[node];
    if (tag === T.table) return false;
    if (tag === T.pre) hasPre = true;
    if (tag !== T.td && tag !== T.th) continue;
    if (isGutter(tree, node)) hasGutter = true;
    else if (CODE_CELL.test(classOf(tree, node))) hasCode = true;
    else if (!hasGutter) return false;
  }
  return hasGutter && (hasCode || hasPre);
}

/** Lower-case name of the language, '' when the markup names none. */
export function codeLanguage(tree: Tree, node: number): string {
  const parent = tree.parent[node]!;
  const around = parent > 0 ? tree.parent[parent]! : 0;
  for (const element of [innermostCode(tree, node), node, parent, around]) {
    if (element <= 0 || tree.tag[element] === T.body) continue;
    const name = languageOf(tree, element, element >= node);
    if (name !== '') return NO_LANGUAGE.has(name) ? '' : name;
  }
  return '';
}

/** The `code` in a `pre`; of a table with line numbers, what holds the code. */
function innermostCode(tree: Tree, node: number): number {
  const isTable = tree.tag[node] === T.table;
  const to = isTable ? tree.end[node]! : Math.min(tree.end[node]!, node + 2);
  for (let inner = node + 1; inner < to; inner++) {
    const isCode = tree.tag[inner] === T.code || (isTable && tree.tag[inner] === T.pre);
    if (isCode && languageOf(tree, inner, !isTable) !== '') return inner;
  }
  return 0;
}

function languageOf(tree: Tree, element: number, isCode: boolean): string {
  const named = tree.attr(element, A.dataLang) ?? tree.attr(element, A.dataLanguage);
  if (named !== null && NAME.test(named)) return named.toLowerCase();
  const names = classOf(tree, element);
  if (names === '') return '';
  const found = NAMED.exec(names);
  if (found !== null) return found[1]!.toLowerCase().replace(TRAILING_SIGN, '') || found[1]!;
  if (!isCode && !HIGHLIGHTER.test(names)) return '';
  return (
    names
      .toLowerCase()
      .split(/\s+/)
      .find((name) => BARE_NAMES.has(name)) ?? ''
  );
}
