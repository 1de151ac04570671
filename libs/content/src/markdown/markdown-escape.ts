/** Escapes that keep text text. Only what markdown would otherwise read as markup is touched. */

const MAY_NEED_ESCAPE = /[\\`*_[\]<&~]/;
const WORD = /[\p{L}\p{N}]/u;
const ENTITY = /&#?[a-zA-Z0-9]{1,31};/y;
const LINE_START = /^(?:#{1,6}(?=\s|$)|[-+](?=\s|$)|>|={1,}\s*$|[-:|][-:| ]*$)/;
const LINE_NUMBER = /^(\d{1,9})([.)])(?=\s|$)/;
const TASK_BOX = /^\[[ xX]\](?=\s|$)/;
const BACKTICKS = /`+/g;

const BANG = 33;
const AMP = 38;
const OPEN = 40;
const STAR = 42;
const SLASH = 47;
const COLON = 58;
const LT = 60;
const QUESTION = 63;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const UNDERSCORE = 95;
const BACKTICK = 96;
const TILDE = 126;

export interface EscapeContext {
  /** The text begins a line of a paragraph. */
  lineStart: boolean;
  /** The text begins a list item. */
  itemStart: boolean;
  inLink: boolean;
}

/**
 * One scan: every character is looked at once, in the context of its neighbours in the same text.
 *
 * @param hasMarkup false when the text is known to have none of the characters that may need an escape anywhere
 */
export function escapeText(text: string, context: EscapeContext, hasMarkup = MAY_NEED_ESCAPE.test(text)): string {
  const escaped = hasMarkup ? escapeInline(text, context.inLink) : text;
  if (context.itemStart && escaped.startsWith('[') && TASK_BOX.test(escaped)) return `\\${escaped}`;
  return context.lineStart ? escapeLineStart(escaped) : escaped;
}

// eslint-disable-next-line complexity -- one pass over the text, one case a character
function escapeInline(text: string, inLink: boolean): string {
  let written = '';
  let from = 0;
  let closing = -1;
  let tildes = -1;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    let escape = false;
    if (c === UNDERSCORE) {
      const to = endOfRun(text, i);
      if (!isInsideWord(text, i, to)) {
        written += text.slice(from, i) + '\\_'.repeat(to - i);
        from = to;
      }
      i = to - 1;
    } else if (c === BACKTICK) escape = true;
    else if (c === STAR) escape = !isLone(text, i);
    else if (c === BACKSLASH) escape = i + 1 === text.length || isAsciiPunctuation(text.charCodeAt(i + 1));
    else if (c === OPEN_BRACKET) {
      if (closing < i) closing = text.indexOf(']', i);
      if (closing < 0) closing = text.length;
      escape = inLink || closing === text.length || isLabel(text, closing);
    } else if (c === CLOSE_BRACKET) escape = inLink || isLabel(text, i);
    else if (c === LT) escape = i + 1 === text.length || startsTag(text.charCodeAt(i + 1));
    else if (c === AMP) {
      ENTITY.lastIndex = i;
      escape = ENTITY.test(text);
    } else if (c === TILDE) {
      if (tildes < 0) tildes = text.indexOf('~') === text.lastIndexOf('~') ? 1 : 2;
      escape = tildes > 1;
    }
    if (!escape) continue;
    written += `${text.slice(from, i)}\\`;
    from = i;
  }
  return from === 0 && written === '' ? text : written + text.slice(from);
}

function endOfRun(text: string, from: number): number {
  const c = text.charCodeAt(from);
  let to = from + 1;
  while (text.charCodeAt(to) === c) to++;
  return to;
}

/** Underscores inside words mean nothing. */
function isInsideWord(text: string, from: number, to: number): boolean {
  return from > 0 && to < text.length && WORD.test(text.charAt(from - 1)) && WORD.test(text.charAt(to));
}

/** A star between spaces means nothing. */
function isLone(text: string, at: number): boolean {
  return at > 0 && at + 1 < text.length && text.charCodeAt(at - 1) === 32 && text.charCodeAt(at + 1) === 32;
}

/** Before `(` a closing bracket would end a link text, before `:` the label of a definition at the start. */
function isLabel(text: string, closing: number): boolean {
  const next = text.charCodeAt(closing + 1);
  return next === OPEN || (next === COLON && text.charCodeAt(0) === OPEN_BRACKET);
}

function startsTag(c: number): boolean {
  return (c | 32) >= 97 && (c | 32) <= 122 ? true : c === SLASH || c === BANG || c === QUESTION;
}

export function isAsciiPunctuation(c: number): boolean {
  return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
}

function escapeLineStart(text: string): string {
  const c = text.charCodeAt(0);
  if (c >= 48 && c <= 57) return text.replace(LINE_NUMBER, '$1\\$2');
  return isAsciiPunctuation(c) && LINE_START.test(text) ? `\\${text}` : text;
}

/** Inside a table cell a bar ends the cell. */
export function escapeCell(text: string): string {
  return text.includes('|') ? text.replaceAll('|', '\\|') : text;
}

/** A link title, quotes included. */
export function quoteTitle(title: string): string {
  return `"${title.replace(/["\\]|&(?=#?[a-zA-Z0-9]{1,31};)/g, '\\$&')}"`;
}

/** Characters of a URL that mean something in a link; the space is the only white space that URL parsing leaves in one. */
const URL_SIGNS = [' ', '(', ')', '<', '>', '|', '\\', '`'];

/** A link target that needs no angle brackets. @param url as URL parsing writes it */
export function escapeUrl(url: string): string {
  if (!mayNeedEscape(url)) return url;
  const plain = url.replace(/[ <>|\\`]/g, (c) => encodeURIComponent(c)).replace(/&(?=#?\w{1,31};)/g, '&amp;');
  return isBalanced(plain) ? plain : plain.replaceAll('(', '%28').replaceAll(')', '%29');
}

function mayNeedEscape(url: string): boolean {
  for (let i = 0; i < URL_SIGNS.length; i++) if (url.includes(URL_SIGNS[i]!)) return true;
  return url.includes('&') && url.includes(';');
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
  if (!text.includes(char)) return char.repeat(least);
  let longest = 0;
  for (const [run] of text.matchAll(BACKTICKS)) longest = Math.max(longest, run.length);
  return char.repeat(Math.max(least, longest + 1));
}

/** An inline code span; empty text has none. */
export function codeSpan(text: string): string {
  const fence = fenceFor(text, '`', 1);
  const pad = text.startsWith('`') || text.endsWith('`') ? ' ' : '';
  return `${fence}${pad}${text}${pad}${fence}`;
}
