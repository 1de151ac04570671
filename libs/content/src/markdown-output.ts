/**
 * Text side of the markdown writer: line prefixes, gaps between blocks, markers of emphasis and links.
 *
 * Nothing is written before there is text for it: gaps, list markers, quote prefixes, `**` and `[` wait until a character
 * needs them, so that nothing empty is ever emitted. The output is only appended to, never read back.
 */
export interface Mark {
  open: string;
  close: string;
  isOpen: boolean;
  /** A link that already has its text is not opened again in the next block. */
  once: boolean;
  hasText: boolean;
}

const TRAILING_SPACE = / +$/;

export class MarkdownOutput {
  private readonly parts: string[] = [];
  private prefix = '';
  /** Prefix of the next line while list markers wait; null = `prefix`. */
  private firstPrefix: string | null = null;
  /** Line ends to write before the next text; -1 at the very start. */
  private gap = -1;
  private gapPrefix = '';
  private space = false;
  private inlineDepth = 0;
  private readonly marks: Mark[] = [];
  /** True while the current line has text. */
  private hasLine = false;
  private written = 0;

  /** Grows with every text written: two equal readings mean that nothing was. */
  get progress(): number {
    return this.written;
  }

  /** True when the next text begins a line. */
  get isLineStart(): boolean {
    return !this.hasLine || this.gap > 0;
  }

  get isInline(): boolean {
    return this.inlineDepth > 0;
  }

  toString(): string {
    return this.parts.join('');
  }

  /** Requests at least `lines` line ends (1 new line, 2 empty line) before the next text. */
  breakBlock(lines: number): void {
    if (this.inlineDepth > 0) {
      this.space = true;
      return;
    }
    this.closeMarks();
    this.space = false;
    if (this.gap < 0 || this.firstPrefix !== null) return;
    if (this.gap === 0 || this.prefix.length < this.gapPrefix.length) this.gapPrefix = this.prefix;
    this.gap = Math.max(this.gap, lines);
    this.hasLine = false;
  }

  /** Between these, block breaks are spaces: headings, table cells, link texts of one line. */
  beginInline(): void {
    this.inlineDepth++;
  }

  endInline(): void {
    this.inlineDepth--;
  }

  /** `first` before the next line, `rest` before the lines after it; returns what `popPrefix` needs. */
  pushPrefix(first: string, rest: string): { prefix: string; firstPrefix: string | null; progress: number } {
    const saved = { prefix: this.prefix, firstPrefix: this.firstPrefix, progress: this.written };
    this.firstPrefix = (this.firstPrefix ?? this.prefix) + first;
    this.prefix += rest;
    return saved;
  }

  popPrefix(saved: { prefix: string; firstPrefix: string | null; progress: number }): void {
    this.prefix = saved.prefix;
    this.firstPrefix = saved.progress === this.written ? saved.firstPrefix : null;
  }

  wantSpace(): void {
    this.space = true;
  }

  /** Text without white space at its ends and without line ends. */
  text(text: string): void {
    this.startText();
    this.parts.push(text);
    for (const mark of this.marks) mark.hasText = true;
  }

  /** Like `text`, for what does not use up a link (an image). */
  object(text: string): void {
    this.startText();
    this.parts.push(text);
  }

  /** A line end inside a block. */
  hardBreak(): void {
    if (!this.hasLine || this.gap !== 0) return;
    if (this.inlineDepth > 0) {
      this.space = true;
      return;
    }
    this.closeMarks();
    this.space = false;
    this.parts.push('  ');
    this.gap = 1;
    this.gapPrefix = this.prefix;
  }

  /** Lines as they are, each behind the prefix, as a block of its own. */
  lines(lines: readonly string[]): void {
    this.breakBlock(2);
    this.startLine();
    lines.forEach((line, index) => {
      if (index > 0) this.parts.push('\n', line === '' ? this.prefix.replace(TRAILING_SPACE, '') : this.prefix);
      this.parts.push(line);
    });
    this.written++;
    this.hasLine = true;
    this.breakBlock(2);
  }

  openMark(open: string, close: string, once = false): Mark {
    const mark: Mark = { open, close, isOpen: false, once, hasText: false };
    this.marks.push(mark);
    return mark;
  }

  closeMark(mark: Mark): void {
    const at = this.marks.indexOf(mark);
    if (at < 0) return;
    for (let i = this.marks.length - 1; i >= at; i--) this.close(this.marks[i]!);
    this.marks.splice(at, 1);
  }

  private close(mark: Mark): void {
    if (!mark.isOpen) return;
    mark.isOpen = false;
    this.parts.push(mark.close);
  }

  private closeMarks(): void {
    for (let i = this.marks.length - 1; i >= 0; i--) this.close(this.marks[i]!);
  }

  private startText(): void {
    this.startLine();
    if (this.space && this.hasLine) this.parts.push(' ');
    this.space = false;
    for (const mark of this.marks) {
      if (mark.isOpen || (mark.once && mark.hasText)) continue;
      mark.isOpen = true;
      this.parts.push(mark.open);
    }
    this.hasLine = true;
    this.written++;
  }

  private startLine(): void {
    if (this.gap > 0) {
      const blank = this.gapPrefix.replace(TRAILING_SPACE, '');
      for (let i = 1; i < this.gap; i++) this.parts.push('\n', blank);
      this.parts.push('\n');
    }
    if (this.gap !== 0 || this.firstPrefix !== null) {
      this.parts.push(this.firstPrefix ?? this.prefix);
      this.firstPrefix = null;
      this.space = false;
      this.hasLine = false;
    }
    this.gap = 0;
  }
}
