/** Finds passages that a model quotes in the text it quotes from. Only literal quotes count. */

export interface Passage {
  text: string;
  /** Character in the searched text where it begins. */
  start: number;
  end: number;
}

/** A text with its spaces folded, and where each character came from. */
interface Folded {
  text: string;
  origins: Uint32Array;
}

export class QuotedText {
  private readonly markdown: Folded;
  private plain: Folded | null = null;

  constructor(private readonly source: string) {
    this.markdown = fold(source, () => 0);
  }

  /**
   * The passage as it stands in the text, with spaces and line ends; null: it is not there. The quote may lack marks of
   * markdown.
   */
  find(quote: string): Passage | null {
    return this.findIn(this.markdown, quote, () => 0) ?? this.findIn(this.withoutMarks(), quote, marksAt(quote));
  }

  private withoutMarks(): Folded {
    this.plain ??= fold(this.source, marksAt(this.source));
    return this.plain;
  }

  private findIn({ text, origins }: Folded, quote: string, marks: MarkReader): Passage | null {
    const wanted = fold(quote, marks).text.trim();
    if (wanted === '') return null;
    const at = text.indexOf(wanted);
    if (at === -1) return null;
    const start = origins[at]!;
    const end = origins[at + wanted.length - 1]! + 1;
    return { text: this.source.slice(start, end), start, end };
  }
}

/** Passages in the order of the text, without those that lie within another one. */
export function inOrder(passages: readonly Passage[]): Passage[] {
  let end = -1;
  return passages
    .toSorted((a, b) => a.start - b.start || b.end - a.end)
    .filter((passage) => {
      if (passage.end <= end) return false;
      end = passage.end;
      return true;
    });
}

/** Length of the mark at a place, 0: none. */
type MarkReader = (index: number) => number;

const MARK =
  /\\(?=[\\`*_{}[\]()#+.!|-])|!?\[(?=[^\]\n]{0,500}\]\()|\]\([^()\s]{0,2000}(?:\s"[^"\n]{0,200}")?\)|[*_`]+|^#{1,6}\s+/my;
const FIRST_OF_MARK: ReadonlySet<string> = new Set('\\![]*_`#');

/** Emphasis, code marks, escapes, marks of headings, and the brackets and addresses of links. */
function marksAt(source: string): MarkReader {
  return (index) => {
    if (!FIRST_OF_MARK.has(source[index]!)) return 0;
    MARK.lastIndex = index;
    return MARK.exec(source)?.[0].length ?? 0;
  };
}

function fold(source: string, markAt: MarkReader): Folded {
  const kept: string[] = [];
  const origins = new Uint32Array(source.length);
  let length = 0;
  let isSpace = true;
  for (let index = 0; index < source.length;) {
    const mark = markAt(index);
    if (mark > 0) {
      index += mark;
      continue;
    }
    const char = source[index]!;
    const isBlank = BLANK.test(char);
    if (!isBlank || !isSpace) {
      kept.push(isBlank ? ' ' : char);
      origins[length++] = index;
    }
    isSpace = isBlank;
    index++;
  }
  return { text: kept.join(''), origins };
}

const BLANK = /\s/;
