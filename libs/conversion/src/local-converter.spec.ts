import { afterAll, describe, expect, it } from '@jest/globals';
import { conversionRequest, itConverts } from './converter.conformance.js';
import { LocalConverter } from './local-converter.js';

/** A selector that compares every paragraph with all behind it. */
function endlessPage(paragraphs = 200_000): ReturnType<typeof conversionRequest> {
  const request = conversionRequest('<p>x'.repeat(paragraphs));
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

describe('LocalConverter before its first page', () => {
  /** Threads that keep this process alive: those that are busy, and those that start. */
  const busyThreads = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'MessagePort').length;

  it('starts one thread, once', async () => {
    const before = busyThreads();
    const converter = new LocalConverter({ threads: 2 });
    expect(busyThreads()).toBe(before);
    converter.start();
    converter.start();
    expect(busyThreads()).toBe(before + 1);
    await expect(converter.convert(conversionRequest('<title>x</title>'))).resolves.toMatchObject({ title: 'x' });
    await converter.stop();
  });

  it('starts none when it is stopped', async () => {
    const before = busyThreads();
    const converter = new LocalConverter({ threads: 1 });
    await converter.stop();
    converter.start();
    expect(busyThreads()).toBe(before);
  });
});

describe('LocalConverter under stress', () => {
  it('ends a page that keeps its thread too long, replaces the thread and goes on', async () => {
    // A new thread takes a while to be there, and longer on a busy machine.
    const converter = new LocalConverter({ threads: 1, timeoutMs: 2_000 });
    const hanging = converter.convert(endlessPage());
    const next = converter.convert(conversionRequest('<title>next</title>x'));
    await expect(hanging).rejects.toMatchObject({ code: 'SCRAPE_TIMEOUT' });
    await expect(next).resolves.toMatchObject({ title: 'next' });
    await converter.stop();
  });

  it('converts the pages that lay ready behind one that kept its thread too long', async () => {
    const converter = new LocalConverter({ threads: 1, timeoutMs: 2000 });
    await converter.convert(conversionRequest('x'));
    // As large as a page may be behind which others lie ready.
    const hanging = converter.convert(endlessPage(125_000));
    const client = new AbortController();
    const left = converter.convert(conversionRequest('x'), client.signal);
    const behind = Array.from({ length: 12 }, (_, i) => converter.convert(conversionRequest(`<title>${i}</title>x`)));
    client.abort(new Error('client left'));
    await expect(left).rejects.toThrow('client left');
    await expect(hanging).rejects.toMatchObject({ code: 'SCRAPE_TIMEOUT' });
    const titles = (await Promise.all(behind)).map(({ title }) => title);
    expect(titles).toEqual(behind.map((_, i) => String(i)));
    await converter.stop();
  });

  it('lets no page lie ready behind a large one while another thread may take it', async () => {
    const converter = new LocalConverter({ threads: 2, timeoutMs: 3000 });
    await Promise.all([converter.convert(conversionRequest('x')), converter.convert(conversionRequest('x'))]);
    const hanging = converter.convert(endlessPage());
    hanging.catch(() => undefined);
    const quick = Array.from({ length: 20 }, () => converter.convert(conversionRequest('<title>t</title>x')));
    const first = await Promise.race([hanging.catch(() => 'hanging'), Promise.all(quick).then(() => 'quick')]);
    expect(first).toBe('quick');
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
    await converter.convert(conversionRequest('x'));
    const pages = [endlessPage(60_000), conversionRequest('lies ready'), endlessPage(), conversionRequest('waits')];
    const waiting = pages.map((page) => converter.convert(page));
    const rejected = waiting.map((page) =>
      expect(page).rejects.toMatchObject({ code: 'UNKNOWN_ERROR', retryable: true }),
    );
    await converter.stop();
    await Promise.all(rejected);
    await expect(converter.convert(conversionRequest('x'))).rejects.toMatchObject({ code: 'UNKNOWN_ERROR' });
  });
});
