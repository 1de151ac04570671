import { describe, expect, it } from '@jest/globals';
import { DEFAULT_PDF, type PageDocument } from '@troupe/contracts';
import * as frontier from '@troupe/frontier';
import { convertDocument, type DocumentParts } from './convert-document.js';
import { pageRequest } from './page-fixture.js';

const SOURCE: DocumentParts = {
  parts: ['<h1>One</h1>', '<p>Two</p>'],
  title: null,
  metadata: { author: 'A', statusCode: '999' },
  pages: { read: 2, total: 5 },
  warning: 'Cut.',
  text: null,
};

function convert(source: DocumentParts, pdf: Partial<typeof DEFAULT_PDF> = {}) {
  const request = pageRequest('', { metadata: { statusCode: 200, creditsUsed: 5 } });
  const spec = { ...request.spec, onlyMainContent: true, parsers: { image: false, pdf: { ...DEFAULT_PDF, ...pdf } } };
  const result = convertDocument({ ...request, spec }, source, frontier);
  return { ...result, page: JSON.parse(Buffer.from(result.document).toString()) as PageDocument };
}

describe('a document of several pages', () => {
  it('is continuous, and each page after the first adds a credit', () => {
    const { page, numPages, verdict, isDocument } = convert(SOURCE);
    expect({ numPages, verdict, isDocument }).toEqual({ numPages: 2, verdict: 'content', isDocument: true });
    expect(page).toEqual({
      markdown: '# One\n\nTwo',
      warning: 'Cut.',
      metadata: { title: 'One', author: 'A', statusCode: 200, creditsUsed: 6, numPages: 2, totalPages: 5 },
    });
  });

  it('has one markdown per page, and marks between them, when asked for', () => {
    const { page } = convert(SOURCE, { pages: true, pageMarkers: true });
    expect(page.markdown).toBe('# One\n\n---\n\n<!-- page 2 -->\n\nTwo');
    expect(page.pages).toEqual([
      { pageNumber: 1, markdown: '# One' },
      { pageNumber: 2, markdown: 'Two' },
    ]);
  });

  it('without any text is empty', () => {
    expect(convert({ ...SOURCE, parts: ['<p> </p>'] }).verdict).toBe('empty');
  });
});
