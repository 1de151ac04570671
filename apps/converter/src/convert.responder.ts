import { Inject, Injectable } from '@nestjs/common';
import { TroupeError, type ConvertRequest, type Converter, type TraceParent } from '@troupe/contracts';
import type { ConvertReplyHead } from '@troupe/conversion';
import { parseUrl } from '@troupe/frontier';

/** `Converter` */
export const CONVERTER = Symbol('converter');

/**
 * Answers `rpc.convert`: the head of a frame is the request without its body, the frame's body is the page; the reply
 * holds the result without its document, and the document. Errors keep their code on the way.
 */
@Injectable()
export class ConvertResponder {
  constructor(@Inject(CONVERTER) private readonly converter: Converter) {}

  async convert(
    head: unknown,
    body: Uint8Array,
    signal?: AbortSignal,
    trace?: TraceParent,
  ): Promise<{ head: ConvertReplyHead; body: Uint8Array }> {
    const { document, ...reply } = await this.converter.convert({ ...parseHead(head), body, trace }, signal);
    return { head: reply, body: document };
  }
}

/** Only fields that would break the converter are checked here: both services are of one release. */
function parseHead(head: unknown): Omit<ConvertRequest, 'body'> {
  const request = head as Partial<ConvertRequest> | null;
  const isUsable =
    typeof request === 'object' &&
    request !== null &&
    typeof request.url === 'string' &&
    parseUrl(request.url) !== null &&
    Array.isArray(request.spec?.formats) &&
    (request.encoding === 'json' || request.encoding === 'packed');
  if (!isUsable) throw new TroupeError('BAD_REQUEST', 'The conversion request cannot be read');
  return request as Omit<ConvertRequest, 'body'>;
}
