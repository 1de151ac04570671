import type { Response } from 'express';

/** Thrown into work whose client closed the connection; never becomes an answer. */
export class ClientGoneError extends Error {
  constructor() {
    super('the client closed the connection');
    this.name = 'ClientGoneError';
  }
}

/** Aborts when the client disconnects before it was answered. */
export function clientGone(response: Response): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableEnded) controller.abort(new ClientGoneError());
  });
  return controller.signal;
}
