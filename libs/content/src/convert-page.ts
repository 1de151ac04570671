/** A page's bytes to the stored document and what was learned from it. One parse, one tree, few passes. */
import {
  RESERVED_METADATA_KEYS,
  TroupeError,
  type ConvertRequest,
  type ConvertResult,
  type FormatName,
  type PageVerdict,
} from '@troupe/contracts';
import { decodeBody } from './charset.js';
import { writeCleanHtml } from './clean-html.js';
import { collectImages } from './images.js';
import { noDiscovery, collectLinks, discover, forbidsFollowing, type LinkRules } from './links.js';
import { writeMarkdown } from './markdown.js';
import { fenceFor } from './markdown-escape.js';
import { measure } from './measures.js';
import { kindOfContent } from './media-type.js';
import { baseHref, readPageFacts } from './metadata.js';
import { parseHtml } from './parse.js';
import { select, wholePage } from './selection.js';
import type { Tree } from './tree.js';
import { UrlResolver } from './url-resolver.js';
import { judgePage } from './verdict.js';

/**
 * Pure and deterministic; linear in the size of the body.
 *
 * The document has the requested keys, `metadata`, and `warning` when something was left out. `request.encoding` is not
 * applied here: `document` is always plain JSON.
 *
 * @throws TroupeError SCRAPE_UNSUPPORTED_FILE_ERROR for bytes that are no text, BAD_REQUEST for a bad selector
 */
export function convertPage(request: ConvertRequest, rules: LinkRules): ConvertResult {
  const kind = kindOfContent(request.contentType, request.body);
  if (kind === 'binary') {
    const type = request.contentType ?? 'unknown type';
    throw new TroupeError('SCRAPE_UNSUPPORTED_FILE_ERROR', `Files of type ${type.slice(0, 100)} cannot be converted`);
  }
  const text = decodeBody(request.body, request.contentType, request.rendered);
  return kind === 'html' ? convertHtml(request, rules, text) : convertText(request, text, kind);
}

// ---- HTML

function convertHtml(request: ConvertRequest, rules: LinkRules, html: string): ConvertResult {
  const tree = parseHtml(html);
  const urls = new UrlResolver(request.url, baseHref(tree));
  const facts = readPageFacts(tree, urls);
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
      : discover(
          tree,
          urls,
          request.discover,
          rules,
          forbidsFollowing(facts.robots) || forbidsFollowing(request.robotsTag),
        );
  const content = writeFormats(request, tree, urls, { mask, measures });
  return {
    verdict,
    ...encode({ ...content, metadata: mergeMetadata(facts.metadata, request.metadata) }),
    title: facts.title,
    outlinks: found.outlinks,
    excluded: found.excluded,
    refreshUrl: facts.refreshUrl,
    canonicalUrl: facts.canonicalUrl,
  };
}

type Content = Partial<Record<FormatName, string | string[]>> & { warning?: string };

function writeFormats(
  request: ConvertRequest,
  tree: Tree,
  urls: UrlResolver,
  whole: Parameters<typeof select>[2],
): Content {
  const { spec } = request;
  const wanted = new Set<FormatName>(spec.formats.map((format) => format.type));
  const content: Content = {};
  if (wanted.has('rawHtml')) content.rawHtml = tree.source;
  wanted.delete('rawHtml');
  if (wanted.size === 0) return content;
  const { mask, warning } = select(tree, spec, whole);
  if (warning !== undefined) content.warning = warning;
  const options = { urls, removeBase64Images: spec.removeBase64Images };
  if (wanted.has('markdown')) content.markdown = writeMarkdown(tree, mask, options);
  if (wanted.has('html')) content.html = writeCleanHtml(tree, mask, urls);
  if (wanted.has('links')) content.links = collectLinks(tree, mask, urls);
  if (wanted.has('images')) content.images = collectImages(tree, mask, urls);
  return content;
}

/** The response's own keys win, and a page cannot set one of them even where the response has none. */
function mergeMetadata(page: Record<string, unknown>, reserved: Record<string, unknown>): Record<string, unknown> {
  for (const key of RESERVED_METADATA_KEYS) delete page[key];
  return Object.assign(page, reserved);
}

function encode(document: unknown): Pick<ConvertResult, 'document' | 'documentBytes'> {
  const bytes = new TextEncoder().encode(JSON.stringify(document));
  return { document: bytes, documentBytes: bytes.byteLength };
}

// ---- other text

function convertText(request: ConvertRequest, text: string, kind: 'json' | 'xml' | 'text'): ConvertResult {
  const isBlank = text.trim() === '';
  const verdict: PageVerdict = isBlank ? 'empty' : 'content';
  const markdown = kind === 'text' || isBlank ? text : fenced(text, kind);
  const content: Content = {};
  for (const { type } of request.spec.formats) {
    if (type === 'markdown') content.markdown = markdown;
    else if (type === 'links' || type === 'images') content[type] = [];
    else
      content[type] = type === 'rawHtml' ? text : `<pre>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</pre>`;
  }
  return {
    verdict,
    ...encode({ ...content, metadata: mergeMetadata({}, request.metadata) }),
    title: null,
    ...noDiscovery(),
    refreshUrl: null,
    canonicalUrl: null,
  };
}

function fenced(text: string, language: string): string {
  const fence = fenceFor(text, '`', 3);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}
