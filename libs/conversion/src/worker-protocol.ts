import type { ConvertRequest, ConvertResult, ErrorWire, Outlink } from '@troupe/contracts';

/** Given to a thread when it starts. */
export interface WorkerSettings {
  /** Program that recognises text in pictures; null: there is none. */
  ocrCommand: string | null;
}

/** Main thread to worker. The body's buffer is transferred. */
export interface Task {
  id: number;
  request: ConvertRequest;
}

/** Worker to main thread. The document's buffer is transferred. */
export type WorkerReply =
  | { type: 'ready' }
  | { type: 'done'; id: number; result: ResultWire }
  | { type: 'failed'; id: number; error: ErrorWire };

/** Outlinks as one text: a copy of fifty objects takes five times as long, on either side. */
export type ResultWire = Omit<ConvertResult, 'outlinks'> & { outlinks: string };

/** Neither part has a space or a line break: a fingerprint is hexadecimal, a canonical URL escapes them. */
export function resultToWire(result: ConvertResult): ResultWire {
  return { ...result, outlinks: result.outlinks.map(({ h, url }) => `${h} ${url}`).join('\n') };
}

export function resultFromWire(result: ResultWire): ConvertResult {
  return { ...result, outlinks: result.outlinks === '' ? [] : result.outlinks.split('\n').map(outlinkOf) };
}

function outlinkOf(line: string): Outlink {
  const at = line.indexOf(' ');
  return { h: line.slice(0, at), url: line.slice(at + 1) };
}

/** The bytes in a buffer of their own, so that it can be transferred; copied only when they share one. */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  if (buffer instanceof ArrayBuffer && byteLength > 0 && byteLength === buffer.byteLength)
    return new Uint8Array(buffer);
  return new Uint8Array(bytes);
}
