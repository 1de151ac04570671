import { closeSync, existsSync, mkdirSync, openSync, renameSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';

/** A log file is turned over at this size; one older file is kept beside it as `<name>.log.1`. */
const MAX_BYTES = 10 * 1024 * 1024;
const KEPT_LINES = 25;

/** Log file of one process: capped in size, with its last lines kept for error messages. */
export class LogFile {
  /** @type {string[]} */
  #last = [];
  #fd;
  #bytes;

  /** @param {string} file */
  constructor(file) {
    mkdirSync(path.dirname(file), { recursive: true });
    this.file = file;
    this.#bytes = existsSync(file) ? statSync(file).size : 0;
    this.#fd = openSync(file, 'a', 0o600);
  }

  /** @param {string} line without line end */
  write(line) {
    const bytes = Buffer.from(`${line}\n`);
    if (this.#bytes + bytes.length > MAX_BYTES) this.#turnOver();
    writeSync(this.#fd, bytes);
    this.#bytes += bytes.length;
    this.#last.push(line);
    if (this.#last.length > KEPT_LINES) this.#last.shift();
  }

  lastLines() {
    return [...this.#last];
  }

  close() {
    closeSync(this.#fd);
  }

  #turnOver() {
    closeSync(this.#fd);
    renameSync(this.file, `${this.file}.1`);
    this.#fd = openSync(this.file, 'a', 0o600);
    this.#bytes = 0;
  }
}

/**
 * Splits a stream into lines; a last line without end counts too.
 *
 * @param {import('node:stream').Readable | null} stream
 * @param {(line: string) => void} onLine
 */
export function readLines(stream, onLine) {
  let rest = '';
  stream?.setEncoding('utf8');
  stream?.on('data', (/** @type {string} */ text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    lines.forEach(onLine);
  });
  stream?.on('end', () => rest !== '' && onLine(rest));
  stream?.on('error', () => undefined);
}
