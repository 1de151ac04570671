/** Dates as pages write them, as `date` and `date-time` want them. Where day and month could be either, it is no date. */

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WORD = '(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?';
const YEAR_FIRST = /\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b/;
const DAY_WORD = new RegExp(`\\b(\\d{1,2})(?:st|nd|rd|th)?\\.?\\s+(?:of\\s+)?${WORD},?\\s+(\\d{4})\\b`, 'i');
const WORD_DAY = new RegExp(`\\b${WORD}\\s+(\\d{1,2})(?:st|nd|rd|th)?,?\\s+(\\d{4})\\b`, 'i');
const NUMERIC = /\b(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})\b/;
const TIME = /(?<!\d)(\d{1,2}):(\d{2})(?::(\d{2})(\.\d+)?)?\s*(z\b|utc\b|gmt\b|[-+]\d{2}:?\d{2})?/i;
const MAX_CHARS = 60;

type Parts = [year: number, month: number, day: number];

/** `2024-03-05`, or null. */
export function readDate(text: string): string | null {
  if (text.length > MAX_CHARS) return null;
  const parts = partsOf(text);
  return parts === null ? null : isoDate(parts);
}

/** `2024-03-05T10:00:00Z`; without a time its midnight, without a zone UTC. null: no date. */
export function readDateTime(text: string): string | null {
  const date = readDate(text);
  if (date === null) return null;
  const [, hour = '0', minute = '00', second = '00', fraction = '', zone = 'Z'] = TIME.exec(text.slice(8)) ?? [];
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null;
  return `${date}T${hour.padStart(2, '0')}:${minute}:${second}${fraction}${zoneOf(zone)}`;
}

function zoneOf(zone: string): string {
  if (!/^[-+]/.test(zone)) return 'Z';
  return zone.includes(':') ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`;
}

function partsOf(text: string): Parts | null {
  const yearFirst = YEAR_FIRST.exec(text) ?? /\b(\d{4})-(\d{2})-(\d{2})T/.exec(text);
  if (yearFirst !== null) return [Number(yearFirst[1]), Number(yearFirst[2]), Number(yearFirst[3])];
  const dayWord = DAY_WORD.exec(text);
  if (dayWord !== null) return [Number(dayWord[3]), monthOf(dayWord[2]!), Number(dayWord[1])];
  const wordDay = WORD_DAY.exec(text);
  if (wordDay !== null) return [Number(wordDay[3]), monthOf(wordDay[1]!), Number(wordDay[2])];
  const numeric = NUMERIC.exec(text);
  return numeric === null ? null : numericParts(Number(numeric[1]), Number(numeric[2]), Number(numeric[3]));
}

function numericParts(first: number, second: number, year: number): Parts | null {
  if (first > 12) return [year, second, first];
  if (second > 12) return [year, first, second];
  return first === second ? [year, first, second] : null;
}

function monthOf(word: string): number {
  return MONTHS.indexOf(word.slice(0, 3).toLowerCase()) + 1;
}

function isoDate([year, month, day]: Parts): string | null {
  const iso = `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
  const date = new Date(`${iso}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(iso) ? iso : null;
}
