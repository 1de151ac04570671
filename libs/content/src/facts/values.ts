/** A text of a page as a number, a truth, a day; null: it does not say. Nothing is guessed beyond the rules here. */
import { dayOf, findDay } from '../metadata/date-text.js';

const MAX_NUMBER_CHARS = 1000;
const DIGITS = '[0-9٠-٩۰-۹]';
/** Groups of three digits behind a space or an apostrophe, or digits with dots and commas; a fraction; a power of ten. */
const NUMBER = new RegExp(
  `([-−–]?)(${DIGITS}{1,3}(?:[ \\u00a0\\u2009\\u202f'’]${DIGITS}{3}(?!${DIGITS}))+(?:[.,]${DIGITS}+)?|${DIGITS}[0-9٠-٩۰-۹.,٫٬]*|[.,]${DIGITS}+)(?:[eE]([+-]?[0-9]{1,3})(?![\\p{L}0-9]))?`,
  'u',
);
const PLAIN_INTEGER = /^\d{1,15}$/;
const NOT_ASCII = /[^\x00-\x7f]/;
const MINUS_AFTER_WORD = /[\p{L}\p{N}]$/u;
/** Where a comma stands before the fraction: the first part of a language tag. */
const COMMA_LANGUAGES: ReadonlySet<string> = new Set(
  'de fr es it pt nl pl cs sk da sv nb nn no fi is ru uk be bg sr hr bs sl mk sq ro hu el tr id vi lt lv et ca gl eu az kk'.split(
    ' ',
  ),
);

/** Whether `1.299` is a thousand and more in a language (`de`, `de-CH`; null: unknown). Swiss German writes `1'299.50`. */
export function hasDecimalComma(language: string | null): boolean {
  if (language === null) return false;
  const tag = language.slice(0, 20).toLowerCase().replace('_', '-');
  return tag !== 'de-ch' && COMMA_LANGUAGES.has(tag.split('-', 1)[0]!);
}

/**
 * First number of a text: `1.299,00 €`, `$1,299.00`, `1 299,5`, `−3`, `12 %`, `2.5e3`. A lone dot or comma in front of exactly
 * three digits is read as the language writes thousands; without a language as in English.
 */
export function numberIn(text: string, decimalComma: boolean): number | null {
  if (PLAIN_INTEGER.test(text)) return Number(text);
  const found = NUMBER.exec(text.slice(0, MAX_NUMBER_CHARS));
  if (found === null) return null;
  const [, sign = '', digits = '', power = '0'] = found;
  const plain = withDot(latinDigits(digits.replace(/[.,٫٬]+$/, '')), decimalComma);
  if (plain === null) return null;
  const value = Number(`${plain}e${power}`);
  if (!Number.isFinite(value)) return null;
  const isNegative = sign !== '' && !MINUS_AFTER_WORD.test(text.slice(0, found.index));
  return isNegative ? -value : value;
}

function latinDigits(text: string): string {
  if (!NOT_ASCII.test(text)) return text;
  return text
    .replace(/[٠-٩]/g, (digit) => String(digit.charCodeAt(0) - 0x660))
    .replace(/[۰-۹]/g, (digit) => String(digit.charCodeAt(0) - 0x6f0))
    .replaceAll('٫', '.')
    .replaceAll('٬', ',');
}

/** With a dot before the fraction and nothing between thousands; null: a date, a version, no number. */
function withDot(digits: string, decimalComma: boolean): string | null {
  const isSpaced = /[ \u00a0\u2009\u202f'’]/.test(digits);
  const text = digits.replace(/[ \u00a0\u2009\u202f'’]/g, '');
  const [dots, commas] = [count(text, '.'), count(text, ',')];
  if (dots === 0 && commas === 0) return text;
  if (dots > 0 && commas > 0) return withBoth(text);
  const mark = dots > 0 ? '.' : ',';
  if (dots + commas > 1) return isGrouped(text, mark) ? text.replaceAll(mark, '') : null;
  const isThousands = !isSpaced && isGrouped(text, mark) && !text.startsWith('0') && (mark === '.') === decimalComma;
  return isThousands ? text.replace(mark, '') : text.replace(mark, '.');
}

/** Reads a number that has both a dot and a comma: the last of them stands before the fraction. */
function withBoth(text: string): string | null {
  const [fraction, group] = text.lastIndexOf('.') > text.lastIndexOf(',') ? ['.', ','] : [',', '.'];
  if (count(text, fraction) > 1) return null;
  const at = text.indexOf(fraction);
  const whole = text.slice(0, at);
  return isGrouped(whole, group) ? `${whole.replaceAll(group, '')}.${text.slice(at + 1)}` : null;
}

function isGrouped(text: string, mark: string): boolean {
  const [first = '', ...groups] = text.split(mark);
  return first.length >= 1 && first.length <= 3 && groups.every((group) => group.length === 3);
}

function count(text: string, mark: string): number {
  return text.split(mark).length - 1;
}

/** A number without a fraction; `4.0` is one, `4.5` is not rounded. */
export function integerIn(text: string, decimalComma: boolean): number | null {
  const value = numberIn(text, decimalComma);
  return value !== null && Number.isSafeInteger(value) ? value + 0 : null;
}

const YES: ReadonlySet<string> = new Set(['true', 'yes', 'on', '1', '✓', '✔', '☑', '✅']);
const NO: ReadonlySet<string> = new Set(['false', 'no', 'off', '0', '✗', '✘', '☐', '❌']);

export function booleanIn(text: string): boolean | null {
  const word = text.trim().toLowerCase();
  if (YES.has(word)) return true;
  return NO.has(word) ? false : null;
}

const ISO = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?\s?(Z|[+-]\d{2}:?\d{2})?)?$/i;
const RFC = /^(?:[a-z]{3}, )?(\d{1,2}) ([a-z]{3}) (\d{4}) (\d{2}:\d{2}(?::\d{2})?) (GMT|UTC?|Z|[+-]\d{4})$/i;
const FIRST_YEAR = 1000;

/**
 * ISO 8601: a day (`2020-03-04`), with the time and its zone when they are given in ISO 8601 or as in mail
 * (`Wed, 4 Mar 2020 10:00:00 GMT`). Names of months in a dozen languages.
 *
 * @param monthFirst `3/4/2020` is March 4
 */
export function dateIn(text: string, monthFirst: boolean): string | null {
  const iso = ISO.exec(text);
  if (iso !== null) return fromIso(iso);
  const day = findDay(text, monthFirst, FIRST_YEAR)?.day ?? null;
  const mail = RFC.exec(text);
  if (mail === null || day === null) return day;
  const [, , , , time = '', zone = ''] = mail;
  return `${day}T${time.length === 5 ? `${time}:00` : time}${zoneOf(zone)}`;
}

function fromIso([
  ,
  year = '',
  month = '',
  day = '',
  hour,
  minute,
  second = '00',
  fraction = '',
  zone,
]: RegExpExecArray): string | null {
  if (dayOf(Number(year), Number(month), Number(day), 0) === null) return null;
  const date = `${year}-${month}-${day}`;
  if (hour === undefined || minute === undefined) return date;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return date;
  return `${date}T${hour}:${minute}:${second}${fraction}${zone === undefined ? '' : zoneOf(zone)}`;
}

function zoneOf(zone: string): string {
  if (!/^[+-]/.test(zone)) return 'Z';
  return zone.includes(':') ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`;
}
