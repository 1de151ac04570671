/** Turns a page's bytes into the stored document and the facts for the crawl. One parse, one tree, few passes. */
import {
  RESERVED_METADATA_KEYS,
  TroupeError,
  type ConvertRequest,
  type ConvertResult,
  type PageVerdict,
} from '@troupe/contracts';
import { writeFormats } from '@troupe/formats';
import { decodeBody } from './charset.js';
import { readEmbedded } from './embedded/embedded-content.js';
import { jsonBytes } from './json-bytes.js';
import { noDiscovery, discover, forbidsFollowing, type LinkRules } from './links.js';
import { measure, parseHtml } from '@troupe/html';
import { kindOfContent } from './media-type.js';
import { baseHref, readPageFacts } from './metadata/metadata.js';
import { readJsonLd } from './metadata/json-ld.js';
import { HtmlPage, TextPage, type FitSchema } from './pages-to-write.js';
import { wholePage } from '@troupe/main-content';
import { UrlResolver } from './url-resolver.js';
import { judgePage } from './verdict.js';

export interface PageRules extends LinkRules {
  /** For selectors with a schema beside them. @default such values stay as they are */
  fitSchema?: FitSchema;
}

/**
 * Pure and deterministic; linear in the size of the body.
 *
 * The document has the requested keys, `metadata`, and `warning` when something was left out. `request.encoding` is not
 * applied here: `document` is always plain JSON.
 *
 * @throws TroupeError SCRAPE_UNSUPPORTED_FILE_ERROR for bytes that are no text, BAD_REQUEST for a bad selector
 */
export function convertPage(request: ConvertRequest, rules: PageRules): ConvertResult {
  const kind = kindOfContent(request.contentType, request.body);
  if (kind === 'binary') {
    const type = request.contentType ?? 'unknown type';
    throw new TroupeError('SCRAPE_UNSUPPORTED_FILE_ERROR', `Files of type ${type.slice(0, 100)} cannot be converted`);
  }
  const text = decodeBody(request.body, request.contentType, request.rendered);
  return kind === 'html' ? convertHtml(request, rules, text) : convertText(request, text, kind);
}

// ---- HTML

function convertHtml(request: ConvertRequest, rules: PageRules, html: string): ConvertResult {
  const tree = parseHtml(html);
  const urls = new UrlResolver(request.url, baseHref(tree));
  const graph = readJsonLd(tree);
  const facts = readPageFacts(tree, urls, graph);
  const mask = wholePage(tree);
  const measures = measure(tree, mask);
  const verdict = judgePage({
    tree,
    measures,
    title: facts.title,
    statusCode: request.statusCode,
    rendered: request.rendered,
  });
  const found =
    request.discover === null
      ? noDiscovery()
      : discover(tree, urls, request.discover, rules, {
          isNofollow: forbidsFollowing(facts.robots) || forbidsFollowing(request.robotsTag),
          rendered: request.rendered,
        });
  const embedded = isMainContent(request.spec) ? readEmbedded(tree, graph, textOf(facts.metadata['title'])) : null;
  const page = new HtmlPage({
    request,
    tree,
    urls,
    graph,
    title: facts.title,
    whole: { mask, measures },
    embedded,
    fitSchema: rules.fitSchema,
  });
  const formats = writeFormats(request.spec.formats, page);
  const metadata = mergeMetadata(facts.metadata, request.metadata);
  if (page.loss !== undefined) metadata['contentLoss'] = Number(page.loss.toFixed(3));
  return {
    verdict,
    ...encode({ ...withCaptured({ ...formats, ...page.warning() }, request.captured), metadata }),
    title: facts.title,
    outlinks: found.outlinks,
    excluded: found.excluded,
    refreshUrl: facts.refreshUrl,
    canonicalUrl: facts.canonicalUrl,
    numPages: null,
    isDocument: false,
  };
}

export type Content = Record<string, unknown> & { warning?: string };

function isMainContent(spec: ConvertRequest['spec']): boolean {
  return spec.onlyMainContent && spec.includeTags.length === 0;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Adds what the browser gave beside the page; its warning comes after the converter's own. */
export function withCaptured(content: Content, captured: ConvertRequest['captured']): Record<string, unknown> {
  const warning = [content.warning, captured?.warning].filter((text) => text !== undefined).join(' ');
  return { ...content, ...captured, ...(warning === '' ? {} : { warning }) };
}

/** The response's own keys win, and a page cannot set one of them even where the response has none. */
export function mergeMetadata(
  page: Record<string, unknown>,
  reserved: Record<string, unknown>,
): Record<string, unknown> {
  for (const key of RESERVED_METADATA_KEYS) delete page[key];
  return Object.assign(page, reserved);
}

export function encode(document: Readonly<Record<string, unknown>>): Pick<ConvertResult, 'document' | 'documentBytes'> {
  const bytes = jsonBytes(document);
  return { document: bytes, documentBytes: bytes.byteLength };
}

// ---- other text

function convertText(request: ConvertRequest, text: string, kind: 'json' | 'xml' | 'text'): ConvertResult {
  const verdict: PageVerdict = text.trim() === '' ? 'empty' : 'content';
  const page = new TextPage(request, text, kind);
  const content = { ...writeFormats(request.spec.formats, page), ...page.warning() };
  return {
    verdict,
    ...encode({ ...withCaptured(content, request.captured), metadata: mergeMetadata({}, request.metadata) }),
    title: null,
    ...noDiscovery(),
    refreshUrl: null,
    canonicalUrl: null,
    numPages: null,
    isDocument: false,
  };
}
