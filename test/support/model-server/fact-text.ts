/** Facts that a text states plainly: `Name: value` lines, tables, headings, lists. */

export interface Fact {
  name: string;
  value: string;
}

export interface Section {
  heading: string;
  level: number;
  lines: string[];
}

const LABELLED = /^\s*(?:[-*+]\s+|\d+[.)]\s+)?([\p{L}][\p{L}\p{N} _\-/()]{0,60}?)\s*:\s+(\S.*?)\s*$/u;
const HEADING = /^(#{1,6})\s+(.+?)\s*#*$/;
const LIST_ITEM = /^\s*(?:[-*+]|\d+[.)])\s+(.+)$/;
const RULE_ROW = /^\s*\|?(?:\s*:?-{2,}:?\s*\|?)+\s*$/;

/** `unitPrice`, `Unit price` and `unit_price` are one name. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** Without the marks of markdown. */
export function plainText(text: string): string {
  return text
    .replace(/!?\[([^\]]*)\]\(([^)\s]*)[^)]*\)/g, '$1')
    .replace(/\*\*|__|`/g, '')
    .replace(/\\([\\`*_{}[\]()#+.!|-])/g, '$1')
    .trim();
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .replace(/^\||\|$/g, '')
    .split('|')
    .map(plainText);
}

function isRow(line: string): boolean {
  return line.includes('|') && /^\s*\|.*\|\s*$/.test(line) && !RULE_ROW.test(line);
}

/** Rows of all tables under the names of their columns. */
export function tableRows(lines: readonly string[]): Fact[][] {
  const rows: Fact[][] = [];
  let header: string[] | null = null;
  for (const [index, line] of lines.entries()) {
    if (RULE_ROW.test(line) && line.includes('|')) continue;
    if (!isRow(line)) header = null;
    else if (header === null) {
      header = cellsOf(line);
      if (!RULE_ROW.test(lines[index + 1] ?? '')) header = [];
    } else rows.push(cellsOf(line).map((value, column) => ({ name: header?.[column] ?? '', value })));
  }
  return rows;
}

/** Named values of lines and of tables with two columns, in order. */
export function factsOf(lines: readonly string[]): Fact[] {
  return lines.flatMap((line) => {
    if (isRow(line)) {
      const [name = '', value = '', ...more] = cellsOf(line);
      return more.length === 0 && value !== '' ? [{ name, value }] : [];
    }
    const found = LABELLED.exec(line.replace(/\*\*|__/g, ''));
    return found === null || found[2]!.startsWith('//') ? [] : [{ name: plainText(found[1]!), value: found[2]! }];
  });
}

export function headingsOf(lines: readonly string[]): Section[] {
  return lines.flatMap((line, index) => {
    const found = HEADING.exec(line);
    if (found === null) return [];
    const level = found[1]!.length;
    const rest = lines.slice(index + 1);
    const end = rest.findIndex((next) => (HEADING.exec(next)?.[1]?.length ?? 7) <= level);
    return [{ heading: plainText(found[2]!), level, lines: end === -1 ? rest : rest.slice(0, end) }];
  });
}

export function listItems(lines: readonly string[]): string[] {
  return lines.flatMap((line) => LIST_ITEM.exec(line)?.[1] ?? []).map(plainText);
}

/** Sentences of the running text: no headings, tables or lists. */
export function sentencesOf(lines: readonly string[]): string[] {
  const running = lines.filter((line) => !HEADING.test(line) && !line.includes('|') && !LIST_ITEM.test(line));
  return (plainText(running.join('\n').replace(/\s+/g, ' ')).match(/[^.!?]+[.!?]+(?=\s|$)/g) ?? []).map((each) =>
    each.trim(),
  );
}
