/** Envelopes as NATS messages: headers and a JSON body (docs/design/messages.md, "Envelope"). */
import { headers, type MsgHdrs } from '@nats-io/nats-core';
import {
  actorKey,
  TroupeError,
  type ActorKey,
  type ActorKind,
  type ActorMessage,
  type Mail,
  type Sender,
  type TraceParent,
} from '@troupe/contracts';
import { gunzipSync, gzipSync } from 'node:zlib';

/** Bodies above this are compressed. */
export const GZIP_ABOVE_BYTES = 256 * 1024;
/** Largest body in a stream, compressed; what is larger travels by claim check. */
export const MAX_BODY_BYTES = 512 * 1024;
/** A body may not unfold to more than this. */
const MAX_UNFOLDED_BYTES = 64 * 1024 * 1024;

/** Thrown when a message does not fit into its stream, even compressed: send a reference to its content. */
export class MessageTooLargeError extends TroupeError {
  constructor(type: string, bytes: number) {
    super(
      'UNKNOWN_ERROR',
      `A ${type} of ${bytes} bytes (compressed) is above the ${MAX_BODY_BYTES} that a stream takes`,
    );
    this.name = 'MessageTooLargeError';
  }
}

/** Carries a W3C trace context. Only recorded spans are told of, so it is most often absent. */
export const TRACE_HEADER = 'traceparent';

export interface EncodedMessage {
  headers: MsgHdrs;
  data: Uint8Array;
}

/** Synchronous, so that the order of calls is the order of publishes. @throws MessageTooLargeError */
export function encodeBody(type: string, body: unknown): EncodedMessage {
  const hdrs = headers();
  let data: Uint8Array = Buffer.from(JSON.stringify(body));
  if (data.length > GZIP_ABOVE_BYTES) {
    data = gzipSync(data, { level: 1 });
    hdrs.set('T-Enc', 'gz');
  }
  if (data.length > MAX_BODY_BYTES) throw new MessageTooLargeError(type, data.length);
  hdrs.set('T-Type', type);
  return { headers: hdrs, data };
}

export function decodeBody(hdrs: MsgHdrs | undefined, data: Uint8Array): unknown {
  const plain = hdrs?.get('T-Enc') === 'gz' ? gunzipSync(data, { maxOutputLength: MAX_UNFOLDED_BYTES }) : data;
  return JSON.parse(Buffer.from(plain.buffer, plain.byteOffset, plain.length).toString());
}

/** @throws MessageTooLargeError */
export function encodeEnvelope(envelope: Mail): EncodedMessage {
  const message = encodeBody(envelope.type, envelope.body);
  message.headers.set('Nats-Msg-Id', envelope.id);
  message.headers.set('T-V', String(envelope.v));
  message.headers.set('T-From', envelope.from);
  if (envelope.n !== null) message.headers.set('T-N', String(envelope.n));
  if (envelope.trace !== undefined) message.headers.set(TRACE_HEADER, envelope.trace);
  return message;
}

/** @throws Error when the message is none of ours. The schema version is the reader's business. */
export function decodeEnvelope(subject: string, hdrs: MsgHdrs | undefined, data: Uint8Array): Mail {
  if (hdrs === undefined) throw new Error(`message on ${subject} without headers`);
  const type = required(hdrs, 'T-Type', subject);
  const n = hdrs.get('T-N');
  const trace = traceIn(hdrs);
  return {
    id: required(hdrs, 'Nats-Msg-Id', subject),
    type,
    v: wholeNumber(required(hdrs, 'T-V', subject), 'T-V'),
    from: required(hdrs, 'T-From', subject) as Sender,
    to: receiverOf(subject),
    n: n === '' ? null : wholeNumber(n, 'T-N'),
    body: decodeBody(hdrs, data) as ActorMessage,
    ...(trace === undefined ? {} : { trace }),
  };
}

export function traceIn(hdrs: MsgHdrs | undefined): TraceParent | undefined {
  return hdrs?.get(TRACE_HEADER) || undefined;
}

/** Inverse of `actorSubject`. */
export function receiverOf(subject: string): ActorKey {
  const [, , kind, token] = subject.split('.');
  if (kind === undefined || token === undefined) throw new Error(`${subject} names no actor`);
  const id = token.startsWith('=') ? Buffer.from(token.slice(1), 'base64url').toString() : token;
  return actorKey(kind as ActorKind, id);
}

function required(hdrs: MsgHdrs, name: string, subject: string): string {
  const value = hdrs.get(name);
  if (value === '') throw new Error(`message on ${subject} without ${name}`);
  return value;
}

function wholeNumber(text: string, name: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error(`${name} is no whole number: ${text}`);
  return value;
}
