import type { ConvertRequest, ConvertResult, Converter } from '@troupe/contracts';
import { randomUUID } from 'node:crypto';

/** Head of a `rpc.convert` request; the frame's body is the page's. `id` lets the call be aborted. */
export type ConvertHead = Omit<ConvertRequest, 'body'> & { id: string };

/** Head of the answer; the frame's body is the document. */
export type ConvertReplyHead = Omit<ConvertResult, 'document'>;

/** Request/reply to the converter service. Rejects with a `TroupeError`, the service's own errors included. */
export type ConvertCall = (
  head: ConvertHead,
  body: Uint8Array,
  options: { timeoutMs: number; signal?: AbortSignal },
) => Promise<{ head: ConvertReplyHead; body: Uint8Array }>;

/** Converts in the converter service. The transport is handed in, because adapters do not know each other. */
export class NatsConverter implements Converter {
  constructor(
    private readonly call: ConvertCall,
    private readonly options: { timeoutMs: number },
  ) {}

  async convert(request: ConvertRequest, signal?: AbortSignal): Promise<ConvertResult> {
    const { body, ...rest } = request;
    const head: ConvertHead = { ...rest, id: randomUUID() };
    const reply = await this.call(head, body, { timeoutMs: this.options.timeoutMs, signal });
    return { ...reply.head, document: reply.body };
  }
}
