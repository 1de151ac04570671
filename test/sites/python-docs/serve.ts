/** A folder of files as a web site on loopback. */
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileOf } from './walk.js';

const TYPES: Record<string, string> = { '.html': 'text/html', '.txt': 'text/plain', '.py': 'text/x-python' };

export interface FolderSite {
  origin: string;
  /** Paths in the order of their requests. */
  requests: string[];
  stop(): Promise<void>;
}

export async function serveFolder(root: string): Promise<FolderSite> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const url = request.url ?? '/';
    requests.push(url);
    const file = fileOf(root, url);
    if (file === null) {
      response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not found</h1>');
      return;
    }
    response.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' });
    createReadStream(file).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
