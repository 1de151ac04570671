/** Requests for specs: a plain page on `http://site.test/dir/page.html`, no options. */
import {
  PLAIN_PAGE,
  type ConvertRequest,
  type ConvertResult,
  type PageDocument,
  type ScopeSpec,
} from '@troupe/contracts';
import { convertPage } from './convert-page.js';
import type { LinkRules } from './links.js';

export const SCOPE: ScopeSpec = {
  base: 'http://site.test/',
  version: 1,
  includePaths: [],
  excludePaths: [],
  regexOnFullUrl: false,
  maxDepth: null,
  maxPathDepth: null,
  entireDomain: true,
  allowExternalLinks: false,
  allowSubdomains: false,
  ignoreQueryParameters: false,
  deduplicateSimilarUrls: false,
  sitemap: 'include',
};

export function pageRequest(html: string | Uint8Array, changes: Partial<ConvertRequest> = {}): ConvertRequest {
  return {
    body: typeof html === 'string' ? new TextEncoder().encode(html) : html,
    url: 'http://site.test/dir/page.html',
    statusCode: 200,
    contentType: 'text/html; charset=utf-8',
    robotsTag: null,
    rendered: false,
    spec: {
      formats: [{ type: 'markdown' }],
      onlyMainContent: false,
      includeTags: [],
      excludeTags: [],
      removeBase64Images: true,
      parsers: PLAIN_PAGE.parsers,
    },
    captured: null,
    timeoutMs: 30_000,
    metadata: { sourceURL: 'http://site.test/dir/page.html', url: 'http://site.test/dir/page.html', statusCode: 200 },
    discover: null,
    encoding: 'json',
    ...changes,
  };
}

type FormatName = 'markdown' | 'html' | 'rawHtml' | 'links' | 'images' | 'branding';
type Changes = Partial<ConvertRequest['spec']>;
type Converted = ConvertResult & { page: PageDocument };

/** Short ways through `convertPage`. The rules are handed in: only specs may join this lib with the frontier. */
export function pageFixture(rules: LinkRules): {
  convert(html: string | Uint8Array, changes?: Partial<ConvertRequest>): Converted;
  documentOf(html: string, formats: FormatName[], spec?: Changes): PageDocument;
  markdownOf(html: string, spec?: Changes): string;
} {
  const convert = (html: string | Uint8Array, changes: Partial<ConvertRequest> = {}): Converted => {
    const result = convertPage(pageRequest(html, changes), rules);
    return { ...result, page: JSON.parse(Buffer.from(result.document).toString()) as PageDocument };
  };
  const documentOf = (html: string, formats: FormatName[], spec: Changes = {}): PageDocument => {
    const plain = pageRequest(html).spec;
    return convert(html, { spec: { ...plain, ...spec, formats: formats.map((type) => ({ type })) } }).page;
  };
  const markdownOf = (html: string, spec: Changes = {}): string => documentOf(html, ['markdown'], spec).markdown ?? '';
  return { convert, documentOf, markdownOf };
}
