/**
 * Takes traces as a collector does: OTLP over HTTP, protobuf bodies. Reads what the assertions look at, by the field numbers of
 * opentelemetry-proto 1.x (`trace/v1/trace.proto`, `common/v1/common.proto`).
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { setTimeout as sleep } from 'node:timers/promises';

export interface SeenSpan {
  traceId: string;
  spanId: string;
  /** '' for the first span of a trace. */
  parentId: string;
  name: string;
  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  kind: number;
  startNs: bigint;
  endNs: bigint;
  attributes: Record<string, unknown>;
  /** Name of the process: `troupe-fetcher`. */
  service: string;
  instance: string;
  failed: boolean;
}

export interface OtlpReceiver {
  url: string;
  spans: SeenSpan[];
  /** Answers of further batches; 200 at first. */
  answerWith(status: number): void;
  /** Resolves with the spans of a trace as soon as they are what is waited for, or with what there is in the end. */
  trace(traceId: string, isWhole: (spans: SeenSpan[]) => boolean, timeoutMs?: number): Promise<SeenSpan[]>;
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: SeenSpan[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      if (status === 200 && request.url === '/v1/traces') spans.push(...readExport(body));
      response.writeHead(status, { 'content-type': 'application/x-protobuf' });
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    answerWith: (next) => (status = next),
    async trace(traceId, isWhole, timeoutMs = 15_000) {
      const deadlineMs = performance.now() + timeoutMs;
      for (;;) {
        const own = spans.filter((span) => span.traceId === traceId);
        if (isWhole(own) || performance.now() > deadlineMs) return own;
        await sleep(100);
      }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  return request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
}

/** Values of a field: bytes of what has a length, else a number. */
type Fields = Map<number, (Buffer | bigint)[]>;

function readFields(bytes: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => bytes.subarray(at, (at += length));
  const valueOf = (wire: number): Buffer | bigint => {
    if (wire === 0) return varint();
    if (wire === 1) return take(8).readBigUInt64LE();
    if (wire === 2) return take(Number(varint()));
    if (wire === 5) return BigInt(take(4).readUInt32LE());
    throw new Error(`wire type ${wire} is none of protobuf's`);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const value = valueOf(tag & 7);
    const values = fields.get(tag >> 3);
    if (values === undefined) fields.set(tag >> 3, [value]);
    else values.push(value);
  }
  return fields;
}

const messages = (fields: Fields, number: number): Fields[] =>
  (fields.get(number) ?? []).map((value) => readFields(value as Buffer));
const bytesAt = (fields: Fields, number: number): Buffer =>
  (fields.get(number)?.[0] as Buffer | undefined) ?? Buffer.of();
const textAt = (fields: Fields, number: number): string => bytesAt(fields, number).toString('utf8');
const numberAt = (fields: Fields, number: number): bigint => (fields.get(number)?.[0] as bigint | undefined) ?? 0n;

/** `ExportTraceServiceRequest` */
function readExport(body: Buffer): SeenSpan[] {
  return messages(readFields(body), 1).flatMap((resourceSpans) => {
    const resource = attributesOf(messages(resourceSpans, 1)[0] ?? new Map(), 1);
    const service = String(resource['service.name']);
    const instance = String(resource['service.instance.id']);
    return messages(resourceSpans, 2).flatMap((scopeSpans) =>
      messages(scopeSpans, 2).map((span) => readSpan(span, { service, instance })),
    );
  });
}

function readSpan(span: Fields, owner: { service: string; instance: string }): SeenSpan {
  return {
    ...owner,
    traceId: bytesAt(span, 1).toString('hex'),
    spanId: bytesAt(span, 2).toString('hex'),
    parentId: bytesAt(span, 4).toString('hex'),
    name: textAt(span, 5),
    kind: Number(numberAt(span, 6)),
    startNs: numberAt(span, 7),
    endNs: numberAt(span, 8),
    attributes: attributesOf(span, 9),
    failed: messages(span, 15).some((status) => numberAt(status, 3) === 2n),
  };
}

/** `KeyValue`s whose values are text, a truth value or a number. */
function attributesOf(fields: Fields, number: number): Record<string, unknown> {
  const pairs = messages(fields, number).map((pair) => [textAt(pair, 1), valueOf(messages(pair, 2)[0] ?? new Map())]);
  return Object.fromEntries(pairs) as Record<string, unknown>;
}

function valueOf(value: Fields): unknown {
  if (value.has(1)) return textAt(value, 1);
  if (value.has(2)) return numberAt(value, 2) === 1n;
  if (value.has(3)) return Number(numberAt(value, 3));
  if (value.has(4)) return Buffer.from(new BigUint64Array([numberAt(value, 4)]).buffer).readDoubleLE();
  return undefined;
}
