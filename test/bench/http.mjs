/** One small keep-alive HTTP client for everything, so that what is compared is asked for in the same way. */
import http from 'node:http';

const TIMEOUT_MS = 120_000;

export class HttpClient {
  /** @param {{ sockets: number, headers?: Record<string, string> }} options */
  constructor({ sockets, headers = {} }) {
    this.agent = new http.Agent({ keepAlive: true, maxSockets: sockets });
    this.headers = headers;
  }

  /**
   * @param {string} url
   * @param {unknown} [body] sent as JSON with POST; without it the request is a GET
   * @returns {Promise<{ status: number, text: string, ms: number }>}
   */
  ask(url, body) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const length = text === undefined ? {} : { 'content-length': String(Buffer.byteLength(text)) };
    const headers = {
      ...this.headers,
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...length,
    };
    const startedMs = performance.now();
    return new Promise((resolve, reject) => {
      const request = http.request(url, { agent: this.agent, method: text === undefined ? 'GET' : 'POST', headers });
      request.setTimeout(TIMEOUT_MS, () => request.destroy(new Error(`no answer from ${url}`)));
      request.once('error', reject);
      request.once('response', (response) => {
        let answer = '';
        response.setEncoding('utf8').on('data', (part) => (answer += part));
        response.once('error', reject);
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, text: answer, ms: performance.now() - startedMs }),
        );
      });
      request.end(text);
    });
  }

  close() {
    this.agent.destroy();
  }
}
