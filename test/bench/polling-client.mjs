/**
 * A client that only counts what it is sent: one connection, one request at a time, nothing parsed but the head.
 *
 * Two hundred real clients would need more of the machine than what they are to measure.
 */
import net from 'node:net';

const BUFFER_BYTES = 64 * 1024;
const END_OF_HEAD = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';
/** All clients of a process read one after another. */
const SHARED = Buffer.allocUnsafe(BUFFER_BYTES);

export class PollingClient {
  /** @type {{ resolve: (bytes: number) => void, reject: (error: Error) => void } | null} */
  #waiting = null;
  #received = 0;
  /** Of the whole answer; null while it is unknown, because it comes in chunks. @type {number | null} */
  #expected = null;
  #tail = '';

  /** @param {string} url of the server @param {Record<string, string>} headers */
  constructor(url, headers) {
    const { hostname, port } = new URL(url);
    const lines = Object.entries({ host: `${hostname}:${port}`, ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    this.head = ` HTTP/1.1\r\n${lines.join('\r\n')}${END_OF_HEAD}`;
    const onread = { buffer: SHARED, callback: (/** @type {number} */ size) => this.#take(size) };
    this.socket = net.connect({ host: hostname, port: Number(port), noDelay: true, onread });
    this.socket.on('error', (error) => this.#fail(error));
    this.socket.on('close', () => this.#fail(new Error('the server closed the connection')));
  }

  /** @param {string} path @returns {Promise<number>} bytes of the answer */
  get(path) {
    this.#received = 0;
    this.#expected = null;
    this.#tail = '';
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.socket.write(`GET ${path}${this.head}`);
    });
  }

  close() {
    this.socket.destroy();
  }

  /** @param {number} size */
  #take(size) {
    if (this.#received === 0) this.#readHead(SHARED.latin1Slice(0, Math.min(size, 2_048)));
    this.#received += size;
    this.#tail = (this.#tail + SHARED.latin1Slice(Math.max(0, size - LAST_CHUNK.length), size)).slice(
      -LAST_CHUNK.length,
    );
    const isOver = this.#expected === null ? this.#tail === LAST_CHUNK : this.#received >= this.#expected;
    if (isOver) this.#settle((waiting) => waiting.resolve(this.#received));
    return true;
  }

  /** @param {string} text */
  #readHead(text) {
    const head = text.slice(0, text.indexOf(END_OF_HEAD) + END_OF_HEAD.length);
    if (!head.startsWith('HTTP/1.1 200')) return this.#fail(new Error(`an answer was ${text.slice(0, 500)}`));
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1];
    this.#expected = length === undefined ? null : head.length + Number(length);
  }

  /** @param {Error} error */
  #fail(error) {
    this.#settle((waiting) => waiting.reject(error));
  }

  /** @param {(waiting: { resolve: (bytes: number) => void, reject: (error: Error) => void }) => void} settle */
  #settle(settle) {
    const waiting = this.#waiting;
    this.#waiting = null;
    if (waiting !== null) settle(waiting);
  }
}
