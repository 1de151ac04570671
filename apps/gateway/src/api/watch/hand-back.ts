/**
 * Treats an upgrade that this server does not want as the plain request that it is too.
 *
 * HTTP allows a server to ignore `Upgrade`, and some clients offer HTTP/2 with their first request. Node hands every
 * upgrade to the listener once there is one, so the request is read again, without the offer.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

const OFFER = new Set(['connection', 'upgrade', 'http2-settings']);

export interface Upgrade {
  request: Pick<IncomingMessage, 'method' | 'url' | 'httpVersion' | 'rawHeaders'>;
  socket: Duplex;
  /** The part of the body that has arrived. */
  head: Buffer;
}

export function handBack(server: Server, { request, socket, head }: Upgrade): void {
  socket.unshift(Buffer.concat([Buffer.from(plainHead(request), 'latin1'), head]));
  server.emit('connection', socket);
}

function plainHead({ method, url, httpVersion, rawHeaders }: Upgrade['request']): string {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (!OFFER.has(rawHeaders[i]!.toLowerCase())) lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}
