/** Contract of every adapter of the `Converter` port. A spec calls it with its adapter. */
import { PLAIN_PAGE, type ConvertRequest, type Converter } from '@troupe/contracts';
import { unpackDocument } from '@troupe/packing';
import { expect, it } from '@jest/globals';

export function conversionRequest(html: string, changes: Partial<ConvertRequest> = {}): ConvertRequest {
  return {
    body: new TextEncoder().encode(html),
    url: 'http://site.test/a/b.html',
    statusCode: 200,
    contentType: 'text/html',
    robotsTag: null,
    rendered: false,
    spec: {
      formats: [{ type: 'markdown' }, { type: 'links' }],
      onlyMainContent: true,
      includeTags: [],
      excludeTags: [],
      removeBase64Images: true,
      parsers: PLAIN_PAGE.parsers,
    },
    captured: null,
    timeoutMs: 30_000,
    metadata: { statusCode: 200 },
    discover: {
      scope: {
        base: 'http://site.test/',
        version: 1,
        includePaths: ['^/a/.*'],
        excludePaths: [],
        regexOnFullUrl: false,
        maxDepth: null,
        maxPathDepth: null,
        entireDomain: false,
        allowExternalLinks: false,
        allowSubdomains: false,
        ignoreQueryParameters: false,
        deduplicateSimilarUrls: false,
        sitemap: 'include',
      },
      depth: 0,
      maxLinks: 100,
      obeyNofollow: true,
    },
    encoding: 'json',
    ...changes,
  };
}

const PAGE = '<title>T</title><h1>Head</h1><p>Text with <a href="c">one</a> and <a href="/x">another</a> link.</p>';

/** Registers the suite; `converter` is asked for in each test. */
export function itConverts(converter: () => Converter): void {
  it('answers with the document, the outlinks in scope and what was left out', async () => {
    const result = await converter().convert(conversionRequest(PAGE));
    const document = JSON.parse(Buffer.from(result.document).toString()) as Record<string, unknown>;
    expect(document).toEqual({
      markdown: '# Head\n\nText with [one](http://site.test/a/c) and [another](http://site.test/x) link.',
      links: ['http://site.test/a/c', 'http://site.test/x'],
      metadata: { title: 'T', statusCode: 200 },
    });
    expect(result.documentBytes).toBe(result.document.byteLength);
    expect(result.verdict).toBe('content');
    expect(result.title).toBe('T');
    expect(result.outlinks.map(({ url }) => url)).toEqual(['http://site.test/a/c']);
    expect(result.excluded.byRule).toEqual({ include: 1 });
  });

  it('compresses the document when asked and tells its plain length', async () => {
    const result = await converter().convert(conversionRequest(PAGE, { encoding: 'packed' }));
    const plain = await unpackDocument(result.document);
    expect(plain.byteLength).toBe(result.documentBytes);
    expect(JSON.parse(plain.toString())).toHaveProperty('markdown');
  });

  it('rejects files that are no text with their code', async () => {
    const request = conversionRequest('x', { contentType: 'image/png' });
    await expect(converter().convert(request)).rejects.toMatchObject({ code: 'SCRAPE_UNSUPPORTED_FILE_ERROR' });
  });

  it('converts a table in a file, whole and with its type, beside pages', async () => {
    const file = conversionRequest('Name;Height\nÅse;171\n"Żak; Łukasz";183\n', {
      contentType: 'text/csv; charset=utf-8',
    });
    const [page, result] = await Promise.all([converter().convert(conversionRequest(PAGE)), converter().convert(file)]);
    expect(page).toMatchObject({ verdict: 'content', isDocument: false, numPages: null });
    expect(result).toMatchObject({ verdict: 'content', isDocument: true, numPages: null });
    expect(JSON.parse(Buffer.from(result.document).toString())).toMatchObject({
      markdown: '| Name | Height |\n| --- | --- |\n| Åse | 171 |\n| Żak; Łukasz | 183 |',
    });
  });

  it('finds the links of a file, as outlinks too', async () => {
    const feed =
      '<?xml version="1.0"?><rss version="2.0"><channel><title>F</title><item><title>one</title><link>http://site.test/a/one</link></item></channel></rss>';
    const result = await converter().convert(conversionRequest(feed, { contentType: 'application/rss+xml' }));
    expect(result.outlinks.map(({ url }) => url)).toEqual(['http://site.test/a/one']);
    expect(JSON.parse(Buffer.from(result.document).toString())).toMatchObject({ links: ['http://site.test/a/one'] });
  });

  it('returns a file in base64 where no parser is wanted', async () => {
    const request = conversionRequest('{\\rtf1 text}', { contentType: 'application/rtf' });
    const spec = { ...request.spec, formats: [{ type: 'markdown' as const }], parsers: { pdf: null, image: false } };
    const result = await converter().convert({ ...request, spec });
    const { markdown } = JSON.parse(Buffer.from(result.document).toString()) as { markdown: string };
    expect(Buffer.from(markdown, 'base64').toString()).toBe('{\\rtf1 text}');
  });

  it('rejects a damaged file with its code and reads the next one', async () => {
    const damaged = conversionRequest('PK\x03\x04 and nothing more', { contentType: 'application/zip' });
    await expect(converter().convert(damaged)).rejects.toMatchObject({ code: 'SCRAPE_UNSUPPORTED_FILE_ERROR' });
    const next = conversionRequest('{\\rtf1 text\\par}', { contentType: 'text/plain' });
    await expect(converter().convert(next)).resolves.toMatchObject({ isDocument: true, verdict: 'content' });
  });

  it('rejects a bad selector with its code and converts the next page', async () => {
    const request = conversionRequest(PAGE);
    const bad = { ...request, spec: { ...request.spec, excludeTags: ['['] } };
    await expect(converter().convert(bad)).rejects.toMatchObject({ code: 'BAD_REQUEST', httpStatus: 400 });
    await expect(converter().convert(conversionRequest(PAGE))).resolves.toMatchObject({ verdict: 'content' });
  });

  it('converts many pages at once, each to its own result', async () => {
    const pages = Array.from({ length: 20 }, (_, i) => conversionRequest(`<title>page ${i}</title><p>text</p>`));
    const results = await Promise.all(pages.map((page) => converter().convert(page)));
    expect(results.map(({ title }) => title)).toEqual(pages.map((_, i) => `page ${i}`));
  });

  it('rejects at once when the signal has aborted', async () => {
    await expect(converter().convert(conversionRequest(PAGE), AbortSignal.abort(new Error('gone')))).rejects.toThrow(
      'gone',
    );
  });
}
