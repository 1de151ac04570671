/** JSON lines from standard input and for standard output. */

/** Lines end in LF alone: a page may hold U+2028 and U+2029, at which `readline` would break, too. */
export async function* lines() {
  let rest = '';
  for await (const text of process.stdin.setEncoding('utf8')) {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
  yield rest;
}

/** @param {object} value @returns {string} one line for every reader */
export const lineOf = (value) =>
  JSON.stringify(value).replace(/[\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16)}`);
