/** JSON lines of a stream, and for one. */

/**
 * Lines end in LF alone: a page may hold U+2028 and U+2029, at which `readline` would break, too.
 *
 * @param {NodeJS.ReadableStream} [stream]
 */
export async function* lines(stream = process.stdin) {
  let rest = '';
  for await (const text of stream.setEncoding('utf8')) {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
  yield rest;
}

/** @param {object} value @returns {string} one line for every reader */
export const lineOf = (value) =>
  JSON.stringify(value).replace(/[\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16)}`);
