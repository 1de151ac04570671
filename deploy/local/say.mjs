/** Output of the launcher. Its messages go to standard error, so that standard output stays for results. */

/** @param {string} text */
export function say(text) {
  process.stderr.write(`troupe    | ${text}\n`);
}

/** A progress line that replaces itself on a terminal; elsewhere every text is a line. @param {string} text */
export function progress(text) {
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text}` : `${text}\n`);
}

export function endProgress() {
  if (process.stderr.isTTY) process.stderr.write('\n');
}
