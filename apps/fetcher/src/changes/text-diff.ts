/** The changes between two texts, line by line, as a unified diff and as its parts (docs/api/formats.md). Pure. */
import { structuredPatch } from 'diff';

export interface DiffChange {
  type: 'normal' | 'add' | 'del';
  normal?: true;
  add?: true;
  del?: true;
  /** Number of an added or deleted line. */
  ln?: number;
  /** Numbers of an unchanged line, before and after. */
  ln1?: number;
  ln2?: number;
  /** The line with its sign. */
  content: string;
}

export interface TextDiff {
  /** Hunks of a unified diff. */
  text: string;
  json: { files: { from: null; to: null; chunks: { content: string; changes: DiffChange[] }[] }[] };
}

const CONTEXT_LINES = 3;

type Hunk = { oldStart: number; oldLines: number; newStart: number; newLines: number; lines: string[] };

/** Null when it takes longer than `timeoutMs`. */
export function diffTexts(before: string, after: string, timeoutMs: number): TextDiff | null {
  const options = { context: CONTEXT_LINES, timeout: timeoutMs };
  const patch = structuredPatch('', '', ended(before), ended(after), '', '', options);
  if (patch === undefined) return null;
  const chunks = patch.hunks.map((hunk) => ({ content: rangeOf(hunk), changes: changesOf(hunk) }));
  const text = patch.hunks.map((hunk) => [rangeOf(hunk), ...hunk.lines].join('\n')).join('\n');
  return { text: `${text}\n`, json: { files: [{ from: null, to: null, chunks }] } };
}

/** A last line without its end is no difference. */
function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

function rangeOf({ oldStart, oldLines, newStart, newLines }: Hunk): string {
  return `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`;
}

function changesOf({ oldStart, newStart, lines }: Hunk): DiffChange[] {
  let ln1 = oldStart;
  let ln2 = newStart;
  return lines.map((content): DiffChange => {
    if (content.startsWith('+')) return { type: 'add', add: true, ln: ln2++, content };
    if (content.startsWith('-')) return { type: 'del', del: true, ln: ln1++, content };
    return { type: 'normal', normal: true, ln1: ln1++, ln2: ln2++, content };
  });
}
