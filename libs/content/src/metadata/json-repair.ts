/**
 * JSON as pages carry it: in comments, with trailing commas, raw line breaks inside strings, quotes that are not escaped,
 * or cut off at the end.
 */
const QUOTE = 34;
const BACKSLASH = 92;
const MAY_HOLD_HALF_A_PAIR = /\\ud[89a-f]/i;
/** Every escape, so that what is escaped itself is no beginning of one; the first group is half a surrogate pair. */
const ESCAPE = /\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(\\ud[89a-f][0-9a-f]{2})|\\[^]/gi;

/**
 * Value of a JSON text, repaired when it must be; undefined when there is none. Linear in the text. Halves of surrogate
 * pairs, which JSON may name (RFC 8259, section 8.2) and UTF-8 cannot hold, become U+FFFD.
 */
export function parseLooseJson(text: string): unknown {
  const strict = parseJson(text);
  return strict === undefined ? parseJson(new Repair(text).run()) : strict;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(MAY_HOLD_HALF_A_PAIR.test(text) ? wholePairs(text) : text) as unknown;
  } catch {
    return undefined;
  }
}

function wholePairs(text: string): string {
  return text.replace(ESCAPE, (escape, half?: string) => (half === undefined ? escape : '\\ufffd'));
}

/** Rewrites the first value of a text into JSON: one look at each character, brackets closed at the end. */
class Repair {
  private readonly parts: string[] = [];
  private readonly closers: string[] = [];
  private i = 0;

  constructor(private readonly text: string) {}

  run(): string {
    this.i = this.startOfValue();
    while (this.i < this.text.length) {
      this.step();
      if (this.closers.length === 0) break;
    }
    this.dropComma();
    while (this.closers.length > 0) this.parts.push(this.closers.pop()!);
    return this.parts.join('');
  }

  private startOfValue(): number {
    const brace = this.text.indexOf('{');
    const bracket = this.text.indexOf('[');
    if (brace < 0 || bracket < 0) return Math.max(brace, bracket, 0);
    return Math.min(brace, bracket);
  }

  private step(): void {
    const c = this.text[this.i]!;
    if (c === '"') return this.readString();
    if (c === '/' && this.skipComment()) return;
    this.i++;
    if (c === '{' || c === '[') this.closers.push(c === '{' ? '}' : ']');
    else if (c === '}' || c === ']') {
      this.dropComma();
      if (this.closers.pop() !== c) this.i = this.text.length;
      this.parts.push(c);
      return;
    } else if (c <= ' ' || c === ';') return;
    this.parts.push(c);
  }

  private dropComma(): void {
    while (this.parts.at(-1) === ',') this.parts.pop();
  }

  private skipComment(): boolean {
    const kind = this.text[this.i + 1];
    if (kind !== '*' && kind !== '/') return false;
    const close = this.text.indexOf(kind === '*' ? '*/' : '\n', this.i + 2);
    this.i = close < 0 ? this.text.length : close + (kind === '*' ? 2 : 1);
    return true;
  }

  private readString(): void {
    const { text } = this;
    let plainFrom = this.i + 1;
    this.parts.push('"');
    for (this.i++; this.i < text.length; this.i++) {
      const c = text.charCodeAt(this.i);
      if (c === BACKSLASH) this.i++;
      else if (c === QUOTE && this.isEndOfString()) break;
      else if (c === QUOTE || c < 32) {
        this.parts.push(text.slice(plainFrom, this.i), c === QUOTE ? '\\"' : ' ');
        plainFrom = this.i + 1;
      }
    }
    this.parts.push(text.slice(plainFrom, this.i), '"');
    this.i++;
  }

  /** A quote ends its string when something follows that may follow a string. */
  private isEndOfString(): boolean {
    let i = this.i + 1;
    while (i < this.text.length && this.text.charCodeAt(i) <= 32) i++;
    return i >= this.text.length || ',:}]/'.includes(this.text[i]!);
  }
}
