/**
 * A document as the bytes of its JSON: what `JSON.stringify` and then UTF-8 make of it.
 *
 * Nearly all of a document is one or two long texts. They are escaped and encoded in one look at each character, by
 * WebAssembly (`json-bytes.wat`).
 */
import { JSON_BYTES_WASM } from './json-bytes.data.js';
import { instantiate, type Memory } from '@troupe/html';

/** UTF-16 units of a text read at a time. */
const CHUNK = 8192;
/** Most bytes that a unit becomes: `\u001f`. */
const MAX_UNIT_BYTES = 6;
/** Most bytes of a unit in UTF-8. */
const MAX_UTF8_BYTES = 3;
/** Texts of fewer units are left to `JSON.stringify`. */
const MIN_LONG_TEXT = 500;

const BACKSLASH = 92;
const ENCODER = new TextEncoder();
/** Place of the units and their bytes in `Encoder`. Bytes behind both are touched. */
const UNITS_AT = 128;
const UNITS_BYTES = CHUNK * 2;
const BYTES_AT = UNITS_AT + UNITS_BYTES + 32;
/** Where every document begins; a usual one ends there, too. */
const SHARED_BYTES = new Uint8Array(2 * CHUNK * MAX_UNIT_BYTES);
/** Character behind the backslash of an ASCII character's escape: itself, a letter, `u` before its number; 0 without one. */
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
    const encoder = (loaded ??= load());
    for (let from = 0; from < text.length;) {
      const units = Math.min(text.length - from, CHUNK);
      encoder.units.write(text.slice(from, from + units), 'utf16le');
      // The next chunk begins with the units that may belong to the last one of this chunk.
      const isWhole = from + units === text.length || (encoder.unitAt(units - 1) & 0xfc00) !== 0xd800;
      const taken = isWhole ? units : units - 1;
      const bytes = encoder.encode(taken);
      this.reserve(bytes.length);
      this.bytes.set(bytes, this.length);
      this.length += bytes.length;
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

interface Encoder {
  units: Buffer;
  unitAt(index: number): number;
  /** Encodes the first `count` units. The bytes are overwritten by the next call. */
  encode(count: number): Uint8Array;
}

let loaded: Encoder | null = null;

function load(): Encoder {
  const { memory, encode } = instantiate<{
    memory: Memory;
    encode(at: number, end: number, to: number): number;
  }>(JSON_BYTES_WASM);
  new Uint8Array(memory.buffer, 0, ESCAPE.length).set(ESCAPE);
  const bytes = new Uint8Array(memory.buffer, BYTES_AT);
  const units = Buffer.from(memory.buffer, UNITS_AT, UNITS_BYTES);
  return {
    units,
    unitAt: (index) => units.readUInt16LE(2 * index),
    encode: (count) => bytes.subarray(0, encode(UNITS_AT, UNITS_AT + 2 * count, BYTES_AT) - BYTES_AT),
  };
}
