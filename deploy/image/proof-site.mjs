/** A small site on loopback: plain pages, one that a script writes, and one that is too large for a row. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

const LARGE_LINES = 800;

/** Text that does not become small when it is packed. */
function noise() {
  return Array.from(
    { length: LARGE_LINES },
    (_, i) => `<p>${createHash('sha256').update(String(i)).digest('hex')}</p>`,
  ).join('');
}

/** @type {Record<string, string>} */
const PAGES = {
  '/': '<h1>Start</h1><a href="/plain">plain</a> <a href="/large">large</a> <a href="/more">more</a>',
  '/plain': '<h1>Plain</h1><p>Plain words of a page that needs no browser, enough of them to be its content.</p>',
  '/large': `<h1>Large</h1>${noise()}`,
  '/more': '<h1>More</h1><p>One more page with a few words, so that the crawl has something to find.</p>',
};
const SCRIPT = `<body><main id="m"></main><script>setTimeout(() => { m.innerHTML = '<h1>Shown</h1><p>Written by a script.</p>' }, 50)</script></body>`;

export class ProofSite {
  /** @param {import('node:http').Server} server */
  constructor(server) {
    this.server = server;
  }

  /** @returns {Promise<ProofSite>} */
  static start() {
    const server = createServer((request, response) => {
      const place = request.url ?? '/';
      const body = place === '/script' ? SCRIPT : PAGES[place];
      response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'text/html' });
      response.end(body === undefined ? 'no such page' : `<!doctype html><title>${place}</title><main>${body}</main>`);
    });
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(new ProofSite(server))));
  }

  /** Those that a crawl finds. */
  get pages() {
    return Object.keys(PAGES).length;
  }

  /** @param {string} place */
  url(place) {
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.server.address());
    return `http://127.0.0.1:${port}${place}`;
  }

  stop() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }
}
