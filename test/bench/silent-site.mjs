/** A site that takes every request and answers none: jobs on it run and get nowhere. */
import http from 'node:http';

export async function startSilentSite() {
  const server = http.createServer((request, response) => {
    if (request.url === '/robots.txt') response.writeHead(404).end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}
