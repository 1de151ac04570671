/** Frames of request/reply: 4 bytes length of the head (big endian), head as JSON, body as it is. */
import { TroupeError } from '@troupe/contracts';

export interface RpcFrame<H> {
  head: H;
  body: Uint8Array;
}

const LENGTH_BYTES = 4;

export function encodeFrame(head: unknown, body: Uint8Array | null): Uint8Array {
  const json = Buffer.from(JSON.stringify(head));
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + json.length + (body?.length ?? 0));
  frame.writeUInt32BE(json.length, 0);
  json.copy(frame, LENGTH_BYTES);
  if (body !== null) frame.set(body, LENGTH_BYTES + json.length);
  return frame;
}

/** The body is a view of `data`. @throws TroupeError BAD_REQUEST */
export function decodeFrame<H>(data: Uint8Array): RpcFrame<H> {
  const view = Buffer.from(data.buffer, data.byteOffset, data.length);
  const length = view.length < LENGTH_BYTES ? -1 : view.readUInt32BE(0);
  if (length < 0 || LENGTH_BYTES + length > view.length) throw new TroupeError('BAD_REQUEST', 'Frame is cut off');
  const json = view.toString('utf8', LENGTH_BYTES, LENGTH_BYTES + length);
  return { head: JSON.parse(json) as H, body: view.subarray(LENGTH_BYTES + length) };
}
