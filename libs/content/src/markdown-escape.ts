/** Escapes that keep text text. Only what markdown would otherwise read as markup is touched. */

const MAY_NEED_ESCAPE = /[\\`*_[\]<&~#>+\-=|]|^\d{1,9}[.)]/;
const ALWAYS = /[\\`*]/g;
/** Underscores inside words mean nothing. */
const UNDERSCORE = /(?<![\p{L}\p{N}_])_|_(?![\p{L}\p{N}_])/gu;
const TAG_START = /<(?=[a-zA-Z/!?])/g;
const ENTITY_START = /&(?=#?[a-zA-Z0-9]{1,31};)/g;
const BRACKETS = /[[\]]/g;
const STRIKE = /~~/g;
const LINE_START = /^(?:#{1,6}(?=\s|$)|[-+](?=\s|$)|>|={2,}\s*$|-{3,}\s*$|\|)/;
const LINE_NUMBER = /^(\d{1,9})([.)])(?=\s|$)/;
const BACKTICKS = /`+/g;

export function escapeText(text: string, context: { lineStart: boolean; inLink: boolean }): string {
  if (!MAY_NEED_ESCAPE.test(text)) return text;
  let escaped = text.replace(ALWAYS, '\\$&');
  if (escaped.includes('_')) escaped = escaped.replace(UNDERSCORE, '\\_');
  if (escaped.includes('<')) escaped = escaped.replace(TAG_START, '\\<');
  if (escaped.includes('&')) escaped = escaped.replace(ENTITY_START, '\\&');
  if (escaped.includes('~~')) escaped = escaped.replace(STRIKE, '\\~\\~');
  if (context.inLink || escaped.includes('](') || escaped.includes(']:')) escaped = escaped.replace(BRACKETS, '\\$&');
  return context.lineStart ? escapeLineStart(escaped) : escaped;
}

function escapeLineStart(text: string): string {
  if (LINE_START.test(text)) return `\\${text}`;
  return text.replace(LINE_NUMBER, '$1\\$2');
}

/** Inside a table cell a bar ends the cell and a line end ends the table. */
export function escapeCell(text: string): string {
  return text.includes('|') ? text.replaceAll('|', '\\|') : text;
}

/** A link target that needs no angle brackets. */
export function escapeUrl(url: string): string {
  if (!/[\s()<>|\\]/.test(url)) return url;
  const plain = url.replace(/[\s<>|\\]/g, (c) => encodeURIComponent(c));
  return isBalanced(plain) ? plain : plain.replaceAll('(', '%28').replaceAll(')', '%29');
}

function isBalanced(text: string): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 40) depth++;
    else if (c === 41 && --depth < 0) return false;
  }
  return depth === 0;
}

/** A run of `char`, at least `least` long and longer than any in the text. */
export function fenceFor(text: string, char: '`', least: number): string {
  let longest = 0;
  for (const [run] of text.matchAll(BACKTICKS)) longest = Math.max(longest, run.length);
  return char.repeat(Math.max(least, longest + 1));
}
