import type { ConvertRequest, ConvertResult, ErrorWire } from '@troupe/contracts';

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
  | { type: 'done'; id: number; result: ConvertResult }
  | { type: 'failed'; id: number; error: ErrorWire };

/** The bytes in a buffer of their own, so that it can be transferred; copied only when they share one. */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  if (buffer instanceof ArrayBuffer && byteLength > 0 && byteLength === buffer.byteLength)
    return new Uint8Array(buffer);
  return new Uint8Array(bytes);
}
