/** A number as people write it: `1,299.00 €`, `1.299,00`, `12 %`, `-3`; null when it is none, or more than one. */
export function readNumber(text: string): number | null {
  const found = text.match(NUMBER);
  if (found === null || found.length !== 1) return null;
  const [written] = found as [string];
  const rest = text.replace(written, '').trim();
  if (rest.length > MAX_UNIT_CHARS) return null;
  const scale = scaleOf(text.slice(text.indexOf(written) + written.length));
  const value = Number(plainDigits(written)) * scale;
  // Scaling must not leave 1200000.0000000002 behind.
  return Number.isFinite(value) ? Number(value.toPrecision(15)) : null;
}

/** Digits with separators between them. */
const NUMBER = /[-−+]?\d+(?:[.,'’   ]\d{3})*(?:[.,]\d+)?(?:e[-+]?\d+)?/gi;
const MAX_UNIT_CHARS = 40;
/** Letters alone are units as often as scales. */
const SCALES: [RegExp, number][] = [
  [/^\s?thousand\b/i, 1e3],
  [/^\s?(?:mn|mio|million)\b/i, 1e6],
  [/^\s?(?:bn|billion)\b/i, 1e9],
];

function scaleOf(after: string): number {
  return SCALES.find(([word]) => word.test(after))?.[1] ?? 1;
}

/** The last sign separates decimals, unless it stands before three digits like a comma or stands twice. */
function plainDigits(written: string): string {
  const text = written.replace('−', '-').replace(/['’   ]/g, '');
  const marks = text.match(/[.,]/g) ?? [];
  const last = marks.at(-1);
  if (last === undefined) return text;
  const isMixed = marks.some((mark) => mark !== last);
  const repeats = marks.filter((mark) => mark === last).length > 1;
  const groups = !isMixed && (repeats || (last === ',' && /,\d{3}$/.test(text)));
  if (groups) return text.replaceAll(last, '');
  const other = last === '.' ? ',' : '.';
  return text.replaceAll(other, '').replace(last, '.');
}
