import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TimeSlice } from '@troupe/observability';
import type { Response } from 'express';
import { ClientGoneError } from './client-gone.js';

const PIECE_CHARS = 64 * 1024;

type Pieces = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

/**
 * `{…head,"<name>":[…]}` for lists of any length: written in pieces, so that neither the whole text is ever in memory
 * nor the event loop held up.
 * @throws ClientGoneError
 */
export function sendList(
  response: Response,
  head: object,
  list: { name: string; items: Iterable<unknown> },
): Promise<void> {
  return sendPieces(response, piecesOf(head, list));
}

/** JSON that is made while it is sent, as fast as the client reads. @throws ClientGoneError */
export async function sendPieces(response: Response, pieces: Pieces): Promise<void> {
  response.setHeader('content-type', 'application/json; charset=utf-8');
  try {
    await pipeline(Readable.from(pieces), response);
  } catch (error) {
    throw response.destroyed ? new ClientGoneError() : error;
  }
}

async function* piecesOf(head: object, list: { name: string; items: Iterable<unknown> }): AsyncGenerator<string> {
  const slice = new TimeSlice();
  const start = JSON.stringify(head).slice(0, -1);
  let piece = `${start}${start === '{' ? '' : ','}${JSON.stringify(list.name)}:[`;
  let isFirst = true;
  for (const item of list.items) {
    piece += (isFirst ? '' : ',') + JSON.stringify(item);
    isFirst = false;
    if (piece.length < PIECE_CHARS) continue;
    yield piece;
    piece = '';
    if (slice.isOver) await slice.next();
  }
  yield `${piece}]}`;
}
