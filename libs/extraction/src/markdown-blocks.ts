/** Markdown as a sequence of blocks, read as far as they are asked for. */

export type BlockKind = 'heading' | 'table' | 'code' | 'text';

export interface MarkdownBlock {
  kind: BlockKind;
  /** Without the blank lines around it. */
  text: string;
  /** Level of a heading, 1–6; else 0. */
  level: number;
}

const HEADING = /^ {0,3}(#{1,6})(?:\s|$)/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** A longer block goes on as another one. */
const MAX_LINES = 10_000;
const TABLE_ROW = /^\s*\|/;
/** `| --- | :-: |`, read without backtracking. */
const TABLE_RULE = /^[\s|:-]*-[\s|:-]*$/;

export function* markdownBlocks(markdown: string): Generator<MarkdownBlock> {
  const lines = new Lines(markdown);
  for (let line = lines.peek(0); line !== null; line = lines.peek(0)) {
    if (line.trim() === '') lines.take(1);
    else yield readBlock(lines, line);
  }
}

function readBlock(lines: Lines, line: string): MarkdownBlock {
  const heading = HEADING.exec(line);
  if (heading !== null) return { kind: 'heading', level: heading[1]!.length, text: lines.take(1) };
  const fence = FENCE.exec(line);
  if (fence !== null) return { kind: 'code', level: 0, text: lines.take(codeLines(lines, fence[1]!)) };
  const isTable = TABLE_ROW.test(line) && TABLE_RULE.test(lines.peek(1) ?? '');
  const goesOn = isTable ? (next: string) => TABLE_ROW.test(next) : isSameText;
  let count = 1;
  for (let next = lines.peek(count); count < MAX_LINES && next !== null && goesOn(next); next = lines.peek(count))
    count++;
  return { kind: isTable ? 'table' : 'text', level: 0, text: lines.take(count) };
}

function isSameText(line: string): boolean {
  return line.trim() !== '' && !HEADING.test(line) && !FENCE.test(line);
}

/** To the end of the text when the fence is never closed. */
function codeLines(lines: Lines, fence: string): number {
  let count = 1;
  for (let line = lines.peek(count); count < MAX_LINES && line !== null; line = lines.peek(count)) {
    count++;
    const rest = line.trim();
    if (rest.startsWith(fence) && rest.replaceAll(fence[0]!, '') === '') break;
  }
  return count;
}

/** Lines ahead of a place in a text, each found once. */
class Lines {
  private readonly ahead: string[] = [];
  private next = 0;

  constructor(private readonly text: string) {}

  /** The n-th line ahead, null behind the last. */
  peek(n: number): string | null {
    while (this.ahead.length <= n) {
      if (this.next > this.text.length) return null;
      const end = this.text.indexOf('\n', this.next);
      const stop = end === -1 ? this.text.length : end;
      this.ahead.push(this.text.slice(this.next, stop));
      this.next = stop + 1;
    }
    return this.ahead[n]!;
  }

  take(count: number): string {
    return this.ahead.splice(0, count).join('\n');
  }
}
