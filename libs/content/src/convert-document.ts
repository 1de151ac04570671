/** A file that was read into parts of HTML to the stored document: whole, never cut to its main content. */
import type { ConvertRequest, ConvertResult, PageDocument } from '@troupe/contracts';
import { writeFormats } from '@troupe/formats';
import { encode, mergeMetadata, withCaptured, type Content, type PageRules } from './convert-page.js';
import { collapsed } from './metadata/white-space.js';
import { discover, forbidsFollowing, noDiscovery } from './links.js';
import { writeMarkdown } from './markdown/markdown.js';
import { measure, parseHtml, T, type Tree } from '@troupe/html';
import { FileToReturn, HtmlPage } from './pages-to-write.js';
import { orElse, writePlainText } from './plain-text.js';
import { select, wholePage } from '@troupe/main-content';
import { UrlResolver } from './url-resolver.js';

/** Contents of a file, as its reader found them. */
export interface DocumentParts {
  /** HTML, in reading order. */
  parts: string[];
  title: string | null;
  metadata: Record<string, string>;
  /** Page counts of documents with pages, which are then the parts. */
  pages: { read: number; total: number } | null;
  warning: string | null;
  /** Source of a file that is text; null: the HTML stands for it. */
  text: string | null;
}

const MAX_TITLE_CHARS = 300;

/**
 * As `convertPage`, for HTML made from a file. Several parts make one continuous document; with `pages` wanted there is
 * one markdown for each of them, too.
 *
 * @throws TroupeError BAD_REQUEST for a bad selector
 */
export function convertDocument(request: ConvertRequest, source: DocumentParts, rules: PageRules): ConvertResult {
  const tree = parseHtml(source.parts.join('\n'));
  const urls = new UrlResolver(request.url, null);
  const mask = wholePage(tree);
  const whole = { mask, measures: measure(tree, mask) };
  const wanted = { ...request, spec: { ...request.spec, onlyMainContent: false } };
  const page = new HtmlPage({
    request: wanted,
    tree,
    urls,
    graph: null,
    title: source.title,
    whole,
    embedded: null,
    source: source.text,
    fitSchema: rules.fitSchema,
  });
  const formats: DocumentFormats = writeFormats(wanted.spec.formats, page);
  if (source.pages !== null) addPages(formats, source.parts, { request: wanted, urls });
  if (source.warning !== null) page.warn(source.warning);
  const content = { ...formats, ...page.warning() };
  const title = source.title ?? firstHeading(tree);
  const found =
    request.discover === null
      ? noDiscovery()
      : discover(tree, urls, request.discover, rules, {
          isNofollow: forbidsFollowing(request.robotsTag),
          rendered: false,
        });
  return {
    verdict: whole.measures.text[0]! > 0 ? 'content' : 'empty',
    ...encode({ ...withCaptured(content, request.captured), metadata: metadataOf(request, source, title) }),
    title,
    ...found,
    refreshUrl: null,
    canonicalUrl: null,
    numPages: source.pages?.read ?? null,
    isDocument: true,
  };
}

/** The file itself, in base64, in place of a reader's result. */
export function returnFile(request: ConvertRequest): ConvertResult {
  const { body, spec } = request;
  const base64 = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('base64');
  const page = new FileToReturn(request, base64);
  const content = { ...writeFormats(spec.formats, page), ...page.warning() };
  return {
    verdict: body.byteLength > 0 ? 'content' : 'empty',
    ...encode({ ...withCaptured(content, request.captured), metadata: request.metadata }),
    title: null,
    ...noDiscovery(),
    refreshUrl: null,
    canonicalUrl: null,
    numPages: null,
    isDocument: true,
  };
}

type DocumentFormats = Content & Pick<PageDocument, 'pages'>;

/** Adds single pages where `parsers` asks for them. */
function addPages(
  content: DocumentFormats,
  parts: string[],
  page: { request: ConvertRequest; urls: UrlResolver },
): void {
  const { pages, pageMarkers } = page.request.spec.parsers.pdf ?? { pages: false, pageMarkers: false };
  if (!pages && !pageMarkers) return;
  const markdown = parts.map((html) => pageMarkdown(html, page));
  if (pages) content.pages = markdown.map((text, index) => ({ pageNumber: index + 1, markdown: text }));
  if (pageMarkers && content.markdown !== undefined) content.markdown = marked(markdown);
}

function pageMarkdown(html: string, { request, urls }: { request: ConvertRequest; urls: UrlResolver }): string {
  const tree = parseHtml(html);
  const whole = wholePage(tree);
  const { mask } = select(tree, request.spec, { mask: whole, measures: measure(tree, whole) });
  return orElse(
    () => writeMarkdown(tree, mask, { urls, removeBase64Images: request.spec.removeBase64Images }),
    () => writePlainText(tree, mask),
    () => undefined,
  );
}

function marked(pages: string[]): string {
  return pages.map((text, index) => (index === 0 ? text : `\n\n---\n\n<!-- page ${index + 1} -->\n\n${text}`)).join('');
}

function metadataOf(
  request: ConvertRequest,
  { metadata, pages }: DocumentParts,
  title: string | null,
): Record<string, unknown> {
  const reserved = { ...request.metadata };
  if (pages !== null) {
    reserved['numPages'] = pages.read;
    reserved['totalPages'] = pages.total;
    const base = reserved['creditsUsed'];
    if (typeof base === 'number') reserved['creditsUsed'] = base + Math.max(0, pages.read - 1);
  }
  return mergeMetadata({ ...(title === null ? {} : { title }), ...metadata }, reserved);
}

function firstHeading(tree: Tree): string | null {
  for (let node = 1; node < tree.count; node++) {
    const tag = tree.tag[node];
    if (tag !== T.h1) continue;
    const text = collapsed(tree.textContent(node));
    if (text !== '') return text.slice(0, MAX_TITLE_CHARS);
  }
  return null;
}
