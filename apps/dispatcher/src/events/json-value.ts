/** Finds one value of a large JSON object without parsing the others. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x7b, 0x5b]);
const CLOSING = new Set([0x7d, 0x5d]);
const COMMA = 0x2c;

/** Bytes of the value of a top-level key; null when there is none. `json` is a valid JSON object without white space. */
export function topLevelValue(json: Buffer, key: string): Buffer | null {
  const name = Buffer.from(JSON.stringify(key));
  for (let at = 1; at < json.length;) {
    const keyEnd = stringEnd(json, at);
    const valueEnd = valueEndOf(json, keyEnd + 1);
    if (json.subarray(at, keyEnd).equals(name)) return json.subarray(keyEnd + 1, valueEnd);
    at = valueEnd + 1;
  }
  return null;
}

/** Behind the closing quote of the string that opens at `from`. */
function stringEnd(json: Buffer, from: number): number {
  for (let quote = json.indexOf(QUOTE, from + 1); quote !== -1; quote = json.indexOf(QUOTE, quote + 1)) {
    let backslashes = 0;
    while (json[quote - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return json.length;
}

/** Index of the comma or brace behind the value. */
function valueEndOf(json: Buffer, from: number): number {
  let depth = 0;
  for (let at = from; at < json.length; at++) {
    const byte = json[at]!;
    if (byte === QUOTE) at = stringEnd(json, at) - 1;
    else if (OPENING.has(byte)) depth++;
    else if (CLOSING.has(byte) && depth-- === 0) return at;
    else if (byte === COMMA && depth === 0) return at;
  }
  return json.length;
}
