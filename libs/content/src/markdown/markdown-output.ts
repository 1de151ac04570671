/**
 * Text side of the markdown writer: line prefixes, gaps between blocks, markers of emphasis and links.
 *
 * Nothing is written before there is text for it: gaps, list markers, quote prefixes, `**` and `[` wait until a character
 * needs them, so that nothing empty is ever emitted. What was written stays, but for the delimiters of emphasis: whether
 * `**` opens or closes depends on the characters at both its sides (CommonMark, "left- and right-flanking"), and where
 * it would not, the delimiters become HTML tags, or punctuation moves out of them.
 */
import { isAsciiPunctuation } from './markdown-escape.js';

export type Emphasis = 'strong' | 'em' | 'del';

const DELIMITER: Record<Emphasis, string> = { strong: '**', em: '*', del: '~~' };
/** Used right behind a `*` that closes something else. */
const OTHER_DELIMITER: Record<Emphasis, string> = { strong: '__', em: '_', del: '~~' };

export interface Mark {
  /** null: a link or another pair that means the same everywhere. */
  emphasis: Emphasis | null;
  open: string;
  close: string;
  /** Index of its opening part, -1 while it is not open. */
  openAt: number;
  /** The character before its opening part is part of a word. */
  afterWord: boolean;
  /** A link that already has its text is not opened again in the next block. */
  once: boolean;
  hasText: boolean;
  /** Waits, as does a link for the heading inside it. */
  isHeld: boolean;
}

interface Closed {
  emphasis: Emphasis;
  delimiter: string;
  openAt: number;
  closeAt: number;
  afterWord: boolean;
  /** Character before the run of closing delimiters. */
  before: number;
  /** The run begins right behind a delimiter of another kind, which closed because of it. */
  isBehindOther: boolean;
}

interface SavedPrefix {
  prefix: string;
  firstPrefix: string | null;
  isMarkerPending: boolean;
  progress: number;
}

const NO_MARKS: readonly Mark[] = [];
const SPACE = 32;
const HASH = 35;
const CLOSE_PAREN = 41;
const STAR = 42;
const CLOSE_BRACKET = 93;
const BACKTICK = 96;
const TILDE = 126;
const TRAILING_SPACE = / +$/;
const MAX_DIGITS = 9;
const SEVERAL_DIGITS = /^\d{1,9}$/;
const END_OF_NUMBER = /^(\d{0,9})([.)])/;
const UNICODE_SPACE = /\s/;
const UNICODE_PUNCTUATION = /[\p{P}\p{S}]/u;
const HAS_WORD = /[\p{L}\p{N}]/u;
const MOVABLE = /^[:;,.!?…：；，。！？、]$/;
const MAX_MOVED = 3;
const MAX_JOINED_CODE = 1000;

function isSpace(c: number): boolean {
  return c === SPACE || (c > 127 && UNICODE_SPACE.test(String.fromCodePoint(c)));
}

function isPunctuation(c: number): boolean {
  return c < 128 ? isAsciiPunctuation(c) : UNICODE_PUNCTUATION.test(String.fromCodePoint(c));
}

function isWord(c: number): boolean {
  return !isSpace(c) && !isPunctuation(c);
}

/** Whether the text would make a link or a definition of the brackets before it. */
function extendsBracket(text: string): boolean {
  const first = text.charAt(0);
  return first === '(' || first === ':';
}

function lastCodePoint(text: string): number {
  const c = text.charCodeAt(text.length - 1);
  const isLow = c >= 0xdc00 && c <= 0xdfff && text.length > 1;
  return isLow ? text.codePointAt(text.length - 2)! : c;
}

export class MarkdownOutput {
  private readonly parts: string[] = [];
  private prefix = '';
  /** Prefix of the next line while list markers wait; null = `prefix`. */
  private firstPrefix: string | null = null;
  /** The last thing in `firstPrefix` is the marker of a list item. */
  private isMarkerPending = false;
  /** Line ends to write before the next text; -1 at the very start. */
  private gap = -1;
  private gapPrefix = '';
  /** White space to write before the next text of the same line. */
  private space = '';
  /** A line end inside a block, to write before its next text. */
  private hard = false;
  private inlineDepth = 0;
  private inlineBreak = ' ';
  private readonly marks: Mark[] = [];
  /** A run of closing delimiters that waits for the character behind it. */
  private readonly closed: Closed[] = [];
  /** True while the current line has text. */
  private hasLine = false;
  /** The last block is a list item: text would continue it. */
  private afterItem = false;
  /** The last block is text, not lines as they are. */
  private afterText = false;
  /** A list item has nothing but images yet. */
  private onlyImages = false;
  /** The line has nothing but digits yet. */
  private onlyDigits = false;
  private lastChar = SPACE;
  private lastTextAt = -1;
  private lastDelimiterAt = -1;
  private lastCodeAt = -1;
  private codeText = '';
  private written = 0;

  /** Grows with every text written: two equal readings mean that nothing was. */
  get progress(): number {
    return this.written;
  }

  /** True when the next text begins a line. */
  get isLineStart(): boolean {
    return this.inlineDepth === 0 && (!this.hasLine || this.gap > 0 || this.hard);
  }

  /** True when the next text begins a list item. */
  get isItemStart(): boolean {
    return this.isMarkerPending;
  }

  get isInline(): boolean {
    return this.inlineDepth > 0;
  }

  toString(): string {
    this.settleClosed(SPACE);
    return this.parts.join('');
  }

  /** Requests at least `lines` line ends (1 new line, 2 empty line) before the next text. */
  breakBlock(lines: number): void {
    if (this.inlineDepth > 0) return this.breakInline();
    this.closeMarks();
    this.space = '';
    this.hard = false;
    if (this.gap < 0 || this.firstPrefix !== null) return;
    if (this.gap === 0 || this.prefix.length < this.gapPrefix.length) this.gapPrefix = this.prefix;
    this.gap = Math.max(this.gap, lines);
    this.hasLine = false;
  }

  private breakInline(): void {
    if (this.inlineBreak === ' ') this.wantSpace(' ');
    else this.hard = this.hasLine;
  }

  /** Between these, block breaks are spaces (headings) or what is given (table cells). */
  beginInline(lineBreak = ' '): void {
    this.inlineDepth++;
    this.inlineBreak = lineBreak;
  }

  endInline(): void {
    this.inlineDepth--;
  }

  /**
   * `first` before the next line, `rest` before the lines after it; returns what `popPrefix` needs.
   *
   * @param before markers of empty items, a line each, to be written before a list item
   */
  pushPrefix(first: string, rest: string, isItem = false, before = ''): SavedPrefix {
    const { prefix, firstPrefix, isMarkerPending } = this;
    const saved = { prefix, firstPrefix, isMarkerPending, progress: this.written };
    if (isItem && isMarkerPending) this.putMarkerOnItsOwnLine();
    const empty = before === '' ? '' : before.replaceAll('\n', `\n${this.prefix}`);
    this.firstPrefix = (this.firstPrefix ?? this.prefix) + empty + first;
    this.prefix += rest;
    this.isMarkerPending = isItem;
    return saved;
  }

  popPrefix(saved: SavedPrefix): void {
    const isUnused = saved.progress === this.written;
    this.prefix = saved.prefix;
    this.firstPrefix = isUnused ? saved.firstPrefix : null;
    this.isMarkerPending = isUnused && saved.isMarkerPending;
  }

  /** The list item that was opened has ended; at most `lines` line ends until the next one. */
  endItem(lines: number): void {
    if (this.gap > lines) this.gap = lines;
    this.afterItem = true;
  }

  /** A box between the marker and the text of a list item. */
  addToMarker(box: string): void {
    if (this.isMarkerPending) this.firstPrefix = (this.firstPrefix ?? '') + box;
  }

  wantSpace(space = ' '): void {
    if (this.space === '') this.space = space;
  }

  /** Text without white space at its ends and without line ends; pieces do not become `[a](`, `[a]:` or `1.` together. */
  text(text: string): void {
    const isHead = this.isLineStart;
    const isAdjacent = this.startText(text.codePointAt(0)!);
    const continuesNumber = isAdjacent && this.onlyDigits;
    if (isAdjacent && this.lastChar === CLOSE_BRACKET && extendsBracket(text)) this.parts.push('\\');
    this.onlyDigits = (isHead || continuesNumber) && text.length <= MAX_DIGITS && SEVERAL_DIGITS.test(text);
    this.lastTextAt = this.parts.push(continuesNumber ? text.replace(END_OF_NUMBER, '$1\\$2') : text) - 1;
    this.lastChar = lastCodePoint(text);
    this.useMarks();
  }

  /** An inline code span; spans without space between become one, since their delimiters would. */
  code(text: string, write: (text: string) => string): void {
    if (this.codeText.length > MAX_JOINED_CODE && this.lastCodeAt === this.parts.length - 1) this.wantSpace();
    const isAdjacent = this.startText(BACKTICK);
    const continues = isAdjacent && this.lastCodeAt >= 0 && this.lastCodeAt === this.parts.length - 1;
    if (continues) this.parts.pop();
    this.codeText = continues ? this.codeText + text : text;
    this.lastCodeAt = this.parts.push(write(this.codeText)) - 1;
    this.lastChar = BACKTICK;
    this.onlyDigits = false;
    this.useMarks();
  }

  private useMarks(): void {
    this.onlyImages = false;
    for (const mark of this.marks) if (!mark.isHeld) mark.hasText = true;
  }

  /** Like `text`, for what does not use up a link (an image). */
  object(text: string): void {
    const isItemStart = this.isMarkerPending;
    if (!this.startText(text.charCodeAt(0))) this.onlyDigits = false;
    if (isItemStart) this.onlyImages = true;
    this.parts.push(text);
    this.lastChar = CLOSE_PAREN;
  }

  /** A line end inside a block; two of them end the block. */
  hardBreak(): void {
    if (!this.hasLine || this.gap !== 0) return;
    if (this.inlineDepth > 0) return this.breakInline();
    if (this.hard) return this.breakBlock(2);
    this.space = '';
    this.hard = true;
  }

  /** Lines as they are, each behind the prefix, as a block of its own. */
  lines(lines: readonly string[], isFence = false): void {
    this.breakBlock(2);
    if (isFence && this.isMarkerPending) this.putMarkerOnItsOwnLine();
    this.settleClosed(SPACE);
    this.onlyImages = false;
    this.startLine();
    if (this.prefix === '') this.parts.push(lines.join('\n'));
    else this.pushPrefixed(lines);
    this.written++;
    this.hasLine = true;
    this.afterText = false;
    this.breakBlock(2);
  }

  private pushPrefixed(lines: readonly string[]): void {
    const blank = this.prefix.replace(TRAILING_SPACE, '');
    for (let i = 0; i < lines.length; i++) {
      const line = lines[i]!;
      if (i > 0) this.parts.push('\n', line === '' ? blank : this.prefix);
      this.parts.push(line);
    }
  }

  /** `- - a` and a fence behind a marker are valid, and read wrongly by many. */
  private putMarkerOnItsOwnLine(): void {
    this.firstPrefix = `${this.firstPrefix ?? ''}\n${this.prefix}`;
    this.isMarkerPending = false;
  }

  /** At the end of a heading a run of `#` would be dropped. */
  protectClosingHashes(): void {
    const at = this.lastTextAt;
    const text = this.parts[at];
    if (text === undefined || this.lastChar !== HASH) return;
    let from = text.length;
    while (text.charCodeAt(from - 1) === HASH) from--;
    if (from === 0 || text.charCodeAt(from - 1) === SPACE) this.parts[at] = `${text.slice(0, -1)}\\#`;
  }

  // ---- marks

  openEmphasis(emphasis: Emphasis): Mark {
    return this.addMark(emphasis, '', '');
  }

  openMark(open: string, close: string, once = false, isHeld = false): Mark {
    const mark = this.addMark(null, open, close);
    mark.once = once;
    mark.isHeld = isHeld;
    return mark;
  }

  private addMark(emphasis: Emphasis | null, open: string, close: string): Mark {
    const mark = { emphasis, open, close, openAt: -1, afterWord: false, once: false, hasText: false, isHeld: false };
    this.marks.push(mark);
    return mark;
  }

  closeMark(mark: Mark): void {
    const { marks } = this;
    const at = marks[marks.length - 1] === mark ? marks.length - 1 : marks.lastIndexOf(mark);
    if (at < 0) return;
    for (let i = marks.length - 1; i >= at; i--) this.close(marks[i]!);
    if (at === marks.length - 1) marks.pop();
    else marks.splice(at, 1);
  }

  private closeMarks(): void {
    for (let i = this.marks.length - 1; i >= 0; i--) this.close(this.marks[i]!);
  }

  private close(mark: Mark): void {
    if (mark.openAt < 0) return;
    const { openAt, emphasis, afterWord, close } = mark;
    mark.openAt = -1;
    const first = close.charCodeAt(0);
    const last = this.lastClosed();
    const continuesRun = last !== undefined && last.delimiter.charCodeAt(0) === first;
    if (!continuesRun) this.settleClosed(first);
    const before = continuesRun ? last.before : this.lastChar;
    const isBehindOther = this.lastDelimiterAt === this.parts.length - 1 && !continuesRun;
    const closeAt = this.parts.push(close) - 1;
    this.lastDelimiterAt = closeAt;
    this.lastChar = close.charCodeAt(close.length - 1);
    const isFlanking = emphasis !== null && !close.startsWith('<');
    if (emphasis !== null && !isFlanking) this.dropIfBare(openAt, closeAt);
    if (isFlanking) this.closed.push({ emphasis, delimiter: close, openAt, closeAt, afterWord, before, isBehindOther });
  }

  private lastClosed(): Closed | undefined {
    return this.closed.length === 0 ? undefined : this.closed[this.closed.length - 1];
  }

  private mayOpen(mark: Mark): boolean {
    if (mark.isHeld || (mark.once && mark.hasText)) return false;
    return mark.emphasis === null || !this.isWithin(mark);
  }

  /** The same emphasis around is enough. */
  private isWithin(mark: Mark): boolean {
    for (const outer of this.marks) {
      if (outer === mark) return false;
      if (outer.emphasis === mark.emphasis) return true;
    }
    return false;
  }

  /** Opens what waits before a text that begins with `first`. */
  private openMarks(first: number, isAdjacent: boolean): void {
    const waiting = this.waitingMarks();
    let from = 0;
    if (isAdjacent) while (from < waiting.length && this.reopen(waiting[from]!)) from++;
    if (from === waiting.length) return this.settleClosed(first);
    const behindStar = isAdjacent && this.lastChar === STAR && this.lastDelimiterAt === this.parts.length - 1;
    for (let i = from; i < waiting.length; i++) this.chooseDelimiter(waiting[i]!, behindStar);
    this.settleClosed(waiting[from]!.open.charCodeAt(0));
    let before = isAdjacent ? this.lastChar : SPACE;
    for (let i = from; i < waiting.length; i++) {
      const next = this.charBehindRun(waiting, i, first);
      this.openOne(waiting[i]!, before, next);
      const isSameRun = waiting[i + 1]?.open.charCodeAt(0) === waiting[i]!.open.charCodeAt(0);
      if (!isSameRun) before = this.lastChar;
    }
  }

  private waitingMarks(): readonly Mark[] {
    let waiting: Mark[] | null = null;
    for (const mark of this.marks) if (mark.openAt < 0 && this.mayOpen(mark)) (waiting ??= []).push(mark);
    return waiting ?? NO_MARKS;
  }

  private chooseDelimiter(mark: Mark, behindStar: boolean): void {
    if (mark.emphasis === null) return;
    mark.open = (behindStar ? OTHER_DELIMITER : DELIMITER)[mark.emphasis];
    mark.close = mark.open;
  }

  private charBehindRun(waiting: readonly Mark[], at: number, first: number): number {
    const own = waiting[at]!.open.charCodeAt(0);
    for (let i = at + 1; i < waiting.length; i++) {
      const c = waiting[i]!.open.charCodeAt(0);
      if (c !== own) return c;
    }
    return first;
  }

  private openOne(mark: Mark, before: number, next: number): void {
    mark.afterWord = isWord(before);
    if (mark.emphasis !== null) {
      if (!this.opens(mark, before, next)) {
        mark.open = `<${mark.emphasis}>`;
        mark.close = `</${mark.emphasis}>`;
      }
    } else if (before === 33) this.escapeBang();
    mark.openAt = this.parts.push(mark.open) - 1;
    this.lastDelimiterAt = mark.openAt;
    this.lastChar = mark.open.charCodeAt(mark.open.length - 1);
  }

  /** Left-flanking, and not to be taken for the end of what is open around. */
  private opens(mark: Mark, before: number, next: number): boolean {
    const nextIsPunctuation = isPunctuation(next);
    if (isSpace(next) || (nextIsPunctuation && mark.afterWord)) return false;
    if (mark.emphasis === 'del' && before === TILDE) return false;
    const mayClose = mark.afterWord || (nextIsPunctuation && !isSpace(before));
    if (!mayClose) return true;
    const run = this.parts.length - 1;
    const first = mark.open.charAt(0);
    return !this.marks.some(({ openAt, open }) => openAt >= 0 && openAt !== run && open.startsWith(first));
  }

  /** `!` before a link would make it an image. */
  private escapeBang(): void {
    const text = this.parts[this.lastTextAt];
    if (text?.endsWith('!') === true) this.parts[this.lastTextAt] = `${text.slice(0, -1)}\\!`;
  }

  /** Emphasis that ended right here goes on instead of being opened again. */
  private reopen(mark: Mark): boolean {
    const last = this.lastClosed();
    if (last === undefined || last.emphasis !== mark.emphasis || last.closeAt !== this.parts.length - 1) return false;
    if (last.isBehindOther) return false;
    this.parts.pop();
    this.closed.pop();
    this.lastDelimiterAt = this.parts.length - 1;
    mark.openAt = last.openAt;
    mark.open = mark.close = last.delimiter;
    mark.afterWord = last.afterWord;
    this.lastChar = this.closed.length > 0 ? last.delimiter.charCodeAt(0) : last.before;
    return true;
  }

  /** Decides, with the character behind them, whether the waiting delimiters close. */
  private settleClosed(next: number): void {
    if (this.closed.length > 0) this.settleRun(next);
  }

  private settleRun(next: number): void {
    const { before, delimiter } = this.closed[0]!;
    const nextIsWord = isWord(next);
    const closes = !isSpace(before) && !(nextIsWord && (isPunctuation(before) || delimiter.startsWith('_')));
    if (!closes && !this.movePunctuation()) for (const one of this.closed) this.asHtml(one);
    while (this.closed.length > 0) this.closed.pop();
  }

  /** `**a:**b` does not close, `**a**:b` does. */
  private movePunctuation(): boolean {
    const [only, other] = this.closed;
    if (only === undefined || other !== undefined || only.delimiter.startsWith('_')) return false;
    if (this.lastTextAt !== only.closeAt - 1) return false;
    const text = this.parts[this.lastTextAt]!;
    let from = text.length;
    while (from > 0 && text.length - from < MAX_MOVED && MOVABLE.test(text.charAt(from - 1))) from--;
    if (from === text.length || from === 0 || !isWord(lastCodePoint(text.slice(Math.max(0, from - 2), from))))
      return false;
    this.parts[this.lastTextAt] = text.slice(0, from);
    this.parts[only.closeAt] += text.slice(from);
    return true;
  }

  /** Tags around signs alone say nothing. */
  private dropIfBare(openAt: number, closeAt: number): boolean {
    const content = this.parts[openAt + 1]!;
    if (closeAt !== openAt + 2 || this.lastTextAt !== openAt + 1 || HAS_WORD.test(content)) return false;
    this.parts[openAt] = '';
    this.parts[closeAt] = '';
    this.lastChar = lastCodePoint(content);
    return true;
  }

  private asHtml({ emphasis, openAt, closeAt }: Closed): void {
    if (this.dropIfBare(openAt, closeAt)) return;
    this.parts[openAt] = `<${emphasis}>`;
    this.parts[closeAt] = `</${emphasis}>`;
    const outer = this.marks.find((mark) => mark.openAt >= 0 && mark.openAt === openAt - 1 && mark.emphasis !== null);
    if (outer?.afterWord !== true) return;
    outer.open = `<${outer.emphasis}>`;
    outer.close = `</${outer.emphasis}>`;
    this.parts[outer.openAt] = outer.open;
  }

  // ---- lines

  /** Writes what waits before a text; true when the text directly follows the last one. */
  private startText(first: number): boolean {
    const isAdjacent = this.startWord();
    if (!isAdjacent) this.settleClosed(SPACE);
    if (this.marks.length > 0) this.openMarks(first, isAdjacent);
    else this.settleClosed(first);
    this.space = '';
    this.hasLine = true;
    this.afterText = true;
    this.written++;
    return isAdjacent;
  }

  private startWord(): boolean {
    if (this.gap > 0 && this.onlyImages && this.firstPrefix === null && !this.afterItem) {
      this.gap = 0;
      this.parts.push(' ');
      return false;
    }
    if (this.gap !== 0 || this.firstPrefix !== null) {
      this.settleClosed(SPACE);
      this.startLine();
      return false;
    }
    if (this.hard) {
      this.hard = false;
      this.settleClosed(SPACE);
      this.parts.push(this.inlineDepth > 0 ? this.inlineBreak : `  \n${this.prefix}`);
      return false;
    }
    if (!this.hasLine) return false;
    if (this.space === '') return true;
    this.settleClosed(SPACE);
    this.parts.push(this.space);
    return false;
  }

  private startLine(): void {
    if (this.gap > 0) this.endLines();
    const prefix = this.firstPrefix ?? this.prefix;
    if (prefix !== '') this.parts.push(prefix);
    this.firstPrefix = null;
    this.isMarkerPending = false;
    this.onlyImages = false;
    this.afterItem = false;
    this.space = '';
    this.hasLine = false;
    this.gap = 0;
  }

  private endLines(): void {
    const lines = this.needsEmptyLine() ? Math.max(2, this.gap) : this.gap;
    if (lines === 1 && this.firstPrefix === null && this.afterText) this.parts.push('  ');
    if (lines === 1) this.parts.push('\n');
    else this.parts.push(this.gapPrefix === '' ? '\n\n' : `\n${this.gapPrefix.replace(TRAILING_SPACE, '')}\n`);
  }

  /** Text behind a list item would continue it; a marker alone on its line would underline the text before it. */
  private needsEmptyLine(): boolean {
    if (this.firstPrefix === null) return this.afterItem;
    return !this.afterItem && this.firstPrefix.includes('\n');
  }
}
