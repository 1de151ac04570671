import type { ConvertRequest, ConvertResult, Converter, TraceParent } from '@troupe/contracts';
import { randomUUID } from 'node:crypto';
import { kindOfFile } from './file-kind.js';

/** Head of a `rpc.convert` request; the frame's body is the page's. `id` lets the call be aborted. */
export type ConvertHead = Omit<ConvertRequest, 'body'> & { id: string };

/** Head of the answer; the frame's body is the document. */
export type ConvertReplyHead = Omit<ConvertResult, 'document'>;

/** Request/reply to the converter service. Rejects with a `TroupeError`, the service's own errors included. */
export type ConvertCall = (
  head: ConvertHead,
  body: Uint8Array,
  options: { timeoutMs: number; signal?: AbortSignal; trace?: TraceParent },
) => Promise<{ head: ConvertReplyHead; body: Uint8Array }>;

/** Time that a file may take beside its conversion: waiting for a thread, the way over the bus and its thread's end. */
const WAY_MS = 5000;

/** Converts in the converter service. The transport is handed in, because adapters do not know each other. */
export class NatsConverter implements Converter {
  constructor(
    private readonly call: ConvertCall,
    /** `timeoutMs` for pages; a file may take what its request says. */
    private readonly options: { timeoutMs: number },
  ) {}

  async convert(request: ConvertRequest, signal?: AbortSignal): Promise<ConvertResult> {
    const { body, trace, ...rest } = request;
    const head: ConvertHead = { ...rest, id: randomUUID() };
    const timeoutMs = kindOfFile(request) === null ? this.options.timeoutMs : request.timeoutMs + WAY_MS;
    const reply = await this.call(head, body, { timeoutMs, signal, trace });
    return { ...reply.head, document: reply.body };
  }
}
