import type { Request } from 'express';

/**
 * Address of the caller: that of the connection, or the last one that a trusted proxy added. null when the caller has
 * gone.
 */
export function clientAddress(
  request: Pick<Request, 'headers' | 'socket'>,
  { trustProxy }: { trustProxy: boolean },
): string | null {
  const forwarded = trustProxy ? request.headers['x-forwarded-for'] : undefined;
  const last = (Array.isArray(forwarded) ? forwarded.join(',') : forwarded)?.split(',').at(-1)?.trim();
  return last || (request.socket.remoteAddress ?? null);
}
