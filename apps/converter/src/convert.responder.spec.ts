import { describe, expect, it } from '@jest/globals';
import type { ConvertRequest, ConvertResult, Converter } from '@troupe/contracts';
import { ConvertResponder } from './convert.responder.js';

const RESULT: ConvertResult = {
  verdict: 'content',
  document: new Uint8Array([1, 2]),
  documentBytes: 2,
  title: 't',
  outlinks: [],
  excluded: { byRule: {}, sample: [] },
  refreshUrl: null,
  canonicalUrl: null,
  numPages: null,
  isDocument: false,
};
const HEAD = { url: 'http://site.test/', spec: { formats: [{ type: 'markdown' }] }, encoding: 'json' };

class RecordingConverter implements Converter {
  readonly seen: { request: ConvertRequest; signal: AbortSignal | undefined }[] = [];

  async convert(request: ConvertRequest, signal?: AbortSignal): Promise<ConvertResult> {
    this.seen.push({ request, signal });
    return RESULT;
  }
}

describe('ConvertResponder', () => {
  it('joins head and body to a request and splits the result into head and document', async () => {
    const converter = new RecordingConverter();
    const body = new Uint8Array([9]);
    const { signal } = new AbortController();
    const reply = await new ConvertResponder(converter).convert(HEAD, body, signal);
    expect(converter.seen).toEqual([{ request: { ...HEAD, body }, signal }]);
    expect(reply.body).toBe(RESULT.document);
    expect(reply.head).not.toHaveProperty('document');
    expect(reply.head).toMatchObject({ verdict: 'content', title: 't', documentBytes: 2 });
  });

  it.each([null, 'x', {}, { ...HEAD, url: 'nope' }, { ...HEAD, spec: {} }, { ...HEAD, encoding: 'br' }])(
    'refuses a head that is no request: %j',
    async (head) => {
      const responder = new ConvertResponder(new RecordingConverter());
      await expect(responder.convert(head, new Uint8Array())).rejects.toMatchObject({ code: 'BAD_REQUEST' });
    },
  );
});
