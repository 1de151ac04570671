/** Reads the opening request of a WebSocket (docs/api/crawl.md, "WebSocket"). */
import type { IncomingMessage } from 'node:http';
import { isUuid, type Uuid } from '@troupe/contracts';

/**
 * How the client learns of the end. `reason`: v1 with the key as subprotocol, which takes the close reason for a frame.
 * `frames`: v1 with an `Authorization` header, which never looks at the close. `v2`: asks for the status after the close.
 */
export type Dialect = 'v2' | 'reason' | 'frames';

export interface Handshake {
  /** null when it is no id at all. */
  job: Uuid | null;
  dialect: Dialect;
  authorization: string | undefined;
  /** The key, of clients that cannot set headers. */
  subprotocol: string | undefined;
}

const PATH = /^\/(v1|v2)\/(?:crawl|batch\/scrape)\/([^/?]+)\/?(?:\?|$)/;

/** null when it is no path of a job. Either path leads to either kind of job. */
export function readHandshake({ url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>): Handshake | null {
  const path = PATH.exec(url);
  if (path === null) return null;
  const { authorization } = headers;
  const id = path[2]!.toLowerCase();
  return {
    job: isUuid(id) ? id : null,
    dialect: path[1] === 'v2' ? 'v2' : authorization === undefined ? 'reason' : 'frames',
    authorization,
    subprotocol: headers['sec-websocket-protocol']?.split(',')[0]?.trim(),
  };
}
