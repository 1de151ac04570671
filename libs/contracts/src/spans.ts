/** Sets of whole numbers that mostly follow one another, small on the wire and in an actor's state. */

/** First and last number of a run, both included. */
export type Span = [from: number, to: number];

export function* numbersOf(spans: readonly Span[]): Generator<number> {
  for (const [from, to] of spans) for (let n = from; n <= to; n++) yield n;
}

/** The distinct numbers in rising order. */
export function spansOf(numbers: Iterable<number>): Span[] {
  const spans: Span[] = [];
  for (const n of [...numbers].sort((a, b) => a - b)) {
    const last = spans.at(-1);
    if (last === undefined || n > last[1] + 1) spans.push([n, n]);
    else last[1] = n;
  }
  return spans;
}

/** The first `max` numbers, and the others. */
export function splitSpans(spans: readonly Span[], max: number): [Span[], Span[]] {
  const first: Span[] = [];
  const rest: Span[] = [];
  let room = max;
  for (const [from, to] of spans) {
    const end = Math.min(to, from + room - 1);
    if (end >= from) first.push([from, end]);
    if (end < to) rest.push([Math.max(from, end + 1), to]);
    room -= Math.max(0, end - from + 1);
  }
  return [first, rest];
}
