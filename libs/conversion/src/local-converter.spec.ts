import { afterAll, describe, expect, it } from '@jest/globals';
import { conversionRequest, itConverts } from './converter.conformance.js';
import { LocalConverter } from './local-converter.js';

/** A selector that compares every paragraph with all behind it. */
function endlessPage(): ReturnType<typeof conversionRequest> {
  const request = conversionRequest('<p>x'.repeat(200_000));
  return { ...request, spec: { ...request.spec, excludeTags: ['p:nth-last-child(2n)'] } };
}

describe('LocalConverter', () => {
  const converter = new LocalConverter({ threads: 1 });
  afterAll(() => converter.stop());

  itConverts(() => converter);

  it('hands the body over: the buffer is gone afterwards', async () => {
    const request = conversionRequest('<p>x</p>');
    await converter.convert(request);
    expect(request.body.byteLength).toBe(0);
  });
});

describe('LocalConverter under stress', () => {
  it('ends a page that keeps its thread too long, replaces the thread and goes on', async () => {
    const converter = new LocalConverter({ threads: 1, timeoutMs: 400 });
    const hanging = converter.convert(endlessPage());
    const next = converter.convert(conversionRequest('<title>next</title>x'));
    await expect(hanging).rejects.toMatchObject({ code: 'SCRAPE_TIMEOUT' });
    await expect(next).resolves.toMatchObject({ title: 'next' });
    await converter.stop();
  });

  it('refuses pages beyond its queue and forgets waiting pages whose client left', async () => {
    const converter = new LocalConverter({ threads: 1, maxQueue: 2, timeoutMs: 2000 });
    const client = new AbortController();
    const first = converter.convert(conversionRequest('<title>1</title>x'));
    const left = converter.convert(conversionRequest('x'), client.signal);
    await expect(converter.convert(conversionRequest('x'))).rejects.toMatchObject({
      code: 'CONCURRENCY_QUEUE_TIMEOUT',
      retryable: true,
    });
    client.abort(new Error('client left'));
    await expect(left).rejects.toThrow('client left');
    await expect(first).resolves.toMatchObject({ title: '1' });
    await converter.stop();
  });

  it('rejects what it has not converted when it stops, and everything after', async () => {
    const converter = new LocalConverter({ threads: 1 });
    const waiting = converter.convert(conversionRequest('x'));
    const rejected = expect(waiting).rejects.toMatchObject({ code: 'UNKNOWN_ERROR', retryable: true });
    await converter.stop();
    await rejected;
    await expect(converter.convert(conversionRequest('x'))).rejects.toMatchObject({ code: 'UNKNOWN_ERROR' });
  });
});
