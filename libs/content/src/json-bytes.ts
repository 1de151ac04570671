/**
 * A document as the bytes of its JSON: what `JSON.stringify` and then UTF-8 make of it.
 *
 * Nearly all of a document is one or two long texts. They are escaped and encoded in one look at each character, in
 * less than half of the time that a string of JSON and its bytes take.
 */

/** UTF-16 units of a text read at a time. */
const CHUNK = 8192;
/** Most bytes that a unit becomes: `\u001f`. */
const MAX_UNIT_BYTES = 6;
/** Most bytes of a unit in UTF-8. */
const MAX_UTF8_BYTES = 3;
/** Texts of fewer units are left to `JSON.stringify`. */
const MIN_LONG_TEXT = 500;

const BACKSLASH = 92;
const LETTER_U = 117;
const ENCODER = new TextEncoder();
const UNITS = new Uint16Array(CHUNK);
const UNIT_BYTES = Buffer.from(UNITS.buffer);
/** Where every document begins; a usual one ends there, too. */
const SHARED_BYTES = new Uint8Array(2 * CHUNK * MAX_UNIT_BYTES);
/** What an ASCII character has behind the backslash of its escape: itself, a letter, `u` before its number; 0 without one. */
const ESCAPE = new Uint8Array(128);
for (let c = 0; c < ESCAPE.length; c++) {
  const json = JSON.stringify(String.fromCharCode(c));
  if (json.charCodeAt(1) === BACKSLASH) ESCAPE[c] = json.charCodeAt(2);
}

/** @param document keys whose value is undefined are left out */
export function jsonBytes(document: Readonly<Record<string, unknown>>): Uint8Array<ArrayBuffer> {
  const out = new JsonBytes();
  /** JSON since the last long text. */
  let json = '';
  let before = '{';
  for (const [key, value] of Object.entries(document)) {
    if (value === undefined) continue;
    json += `${before}${JSON.stringify(key)}:`;
    before = ',';
    if (typeof value === 'string' && value.length >= MIN_LONG_TEXT) {
      out.json(`${json}"`);
      out.text(value);
      json = '"';
    } else json += JSON.stringify(value);
  }
  out.json(before === '{' ? '{}' : `${json}}`);
  return out.finish();
}

class JsonBytes {
  private bytes = SHARED_BYTES;
  private length = 0;

  finish(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.length);
  }

  /** Writes JSON as it is. */
  json(json: string): void {
    this.reserve(json.length * MAX_UTF8_BYTES);
    this.length += ENCODER.encodeInto(json, this.bytes.subarray(this.length)).written;
  }

  /** Writes what stands between the quotes of a text. */
  text(text: string): void {
    for (let from = 0; from < text.length;) {
      const units = Math.min(text.length - from, CHUNK);
      UNIT_BYTES.write(text.slice(from, from + units), 'utf16le');
      // The next chunk begins with what may belong to the last unit of this one.
      const isWhole = from + units === text.length || (UNITS[units - 1]! & 0xfc00) !== 0xd800;
      const taken = isWhole ? units : units - 1;
      this.reserve(taken * MAX_UNIT_BYTES);
      this.length = encodeUnits(taken, this.bytes, this.length);
      from += taken;
    }
  }

  private reserve(most: number): void {
    if (this.length + most <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(this.bytes.length * 2, this.length + most));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }
}

/** Writes the first units of `UNITS` at `at`, ordinary ones four at once; returns where they end. */
function encodeUnits(count: number, bytes: Uint8Array, at: number): number {
  const units = UNITS;
  const escape = ESCAPE;
  let to = at;
  const lastFour = count - 4;
  for (let i = 0; i < count; i++) {
    while (i <= lastFour) {
      const a = units[i]!;
      const b = units[i + 1]!;
      const c = units[i + 2]!;
      const d = units[i + 3]!;
      if ((a | b | c | d) > 0x7f || (escape[a]! | escape[b]! | escape[c]! | escape[d]!) !== 0) break;
      bytes[to] = a;
      bytes[to + 1] = b;
      bytes[to + 2] = c;
      bytes[to + 3] = d;
      to += 4;
      i += 4;
    }
    if (i >= count) break;
    const c = units[i]!;
    if (c < 0x80) {
      const escaped = escape[c]!;
      if (escaped === 0) bytes[to++] = c;
      else if (escaped === LETTER_U) to = encodeNumber(c, bytes, to);
      else {
        bytes[to++] = BACKSLASH;
        bytes[to++] = escaped;
      }
    } else if (c < 0x800) {
      bytes[to++] = 0xc0 | (c >> 6);
      bytes[to++] = 0x80 | (c & 0x3f);
    } else if ((c & 0xf800) !== 0xd800) {
      bytes[to++] = 0xe0 | (c >> 12);
      bytes[to++] = 0x80 | ((c >> 6) & 0x3f);
      bytes[to++] = 0x80 | (c & 0x3f);
    } else if (c < 0xdc00 && i + 1 < count && (units[i + 1]! & 0xfc00) === 0xdc00) {
      const point = 0x10000 + ((c & 0x3ff) << 10) + (units[++i]! & 0x3ff);
      bytes[to++] = 0xf0 | (point >> 18);
      bytes[to++] = 0x80 | ((point >> 12) & 0x3f);
      bytes[to++] = 0x80 | ((point >> 6) & 0x3f);
      bytes[to++] = 0x80 | (point & 0x3f);
    } else to = encodeNumber(c, bytes, to);
  }
  return to;
}

/** `\u` and the number of a unit that is no character of its own, or none that JSON may hold. */
function encodeNumber(unit: number, bytes: Uint8Array, at: number): number {
  const escaped = `\\u${unit.toString(16).padStart(4, '0')}`;
  for (let i = 0; i < escaped.length; i++) bytes[at + i] = escaped.charCodeAt(i);
  return at + escaped.length;
}
