import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { ClientGoneError } from './client-gone.js';

const PIECE_CHARS = 64 * 1024;

/**
 * `{…head,"<name>":[…],…tail}` for lists of any length: written in pieces as fast as the client reads, so that neither
 * the whole text is ever in memory nor the event loop held up.
 * @throws ClientGoneError
 */
export async function sendList(
  response: Response,
  head: object,
  list: { name: string; items: Iterable<unknown> },
  tail: object = {},
): Promise<void> {
  response.setHeader('content-type', 'application/json; charset=utf-8');
  try {
    await pipeline(Readable.from(piecesOf(head, list, tail)), response);
  } catch (error) {
    throw response.destroyed ? new ClientGoneError() : error;
  }
}

function* piecesOf(head: object, list: { name: string; items: Iterable<unknown> }, tail: object): Generator<string> {
  const start = JSON.stringify(head).slice(0, -1);
  let piece = `${start}${start === '{' ? '' : ','}${JSON.stringify(list.name)}:[`;
  let isFirst = true;
  for (const item of list.items) {
    piece += (isFirst ? '' : ',') + JSON.stringify(item);
    isFirst = false;
    if (piece.length < PIECE_CHARS) continue;
    yield piece;
    piece = '';
  }
  const end = JSON.stringify(tail).slice(1);
  yield `${piece}]${end === '}' ? '' : ','}${end}`;
}
