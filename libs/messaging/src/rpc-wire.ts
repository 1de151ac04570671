/** The wire format on which client and server of request/reply agree. */
import { headers, type MsgHdrs } from '@nats-io/nats-core';
import { TroupeError, type TraceParent } from '@troupe/contracts';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { GZIP_ABOVE_BYTES, TRACE_HEADER } from './envelope.js';
import { decodeFrame, encodeFrame, type RpcFrame } from './rpc-frame.js';

/** A reply that is an error, as JSON of `ErrorWire`. */
export const ERROR_HEADER = 'T-Error';
/** The server works on it; more follows. Its value is where the server is present. */
export const BEAT_HEADER = 'T-Beat';
/** The server was full when the request came in. */
export const BUSY_HEADER = 'T-Busy';
/** Most requests are answered before that. */
export const FIRST_BEAT_MS = 250;
export const BEAT_MS = 1_000;

const ENCODING_HEADER = 'T-Enc';
const MAX_UNFOLDED_BYTES = 256 * 1024 * 1024;
const HEADROOM_BYTES = 1024;

const compress = promisify(gzip);
const expand = promisify(gunzip);

export interface PackedFrame {
  data: Uint8Array;
  headers: MsgHdrs | undefined;
}

/** @throws TroupeError SCRAPE_BODY_TOO_LARGE when it does not fit into one message, even compressed. */
export async function packFrame(head: unknown, body: Uint8Array | null, maxPayload: number): Promise<PackedFrame> {
  const plain = encodeFrame(head, body);
  if (plain.length <= GZIP_ABOVE_BYTES) return { data: plain, headers: undefined };
  const data = await compress(plain, { level: 1 });
  if (data.length > maxPayload - HEADROOM_BYTES) {
    throw new TroupeError(
      'SCRAPE_BODY_TOO_LARGE',
      `The content is too large to be passed on: ${data.length} bytes compressed`,
    );
  }
  const hdrs = headers();
  hdrs.set(ENCODING_HEADER, 'gz');
  return { data, headers: hdrs };
}

export async function unpackFrame<H>(data: Uint8Array, hdrs: MsgHdrs | undefined): Promise<RpcFrame<H>> {
  const isPacked = hdrs?.get(ENCODING_HEADER) === 'gz';
  return decodeFrame<H>(isPacked ? await expand(data, { maxOutputLength: MAX_UNFOLDED_BYTES }) : data);
}

/** The frame with the trace context of its request. */
export function withTrace({ data, headers: hdrs }: PackedFrame, trace: TraceParent | undefined): PackedFrame {
  if (trace === undefined) return { data, headers: hdrs };
  const traced = hdrs ?? headers();
  traced.set(TRACE_HEADER, trace);
  return { data, headers: traced };
}
