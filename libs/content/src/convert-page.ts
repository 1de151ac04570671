/** A page's bytes to the stored document and what was learned from it. One parse, one tree, few passes. */
import {
  RESERVED_METADATA_KEYS,
  TroupeError,
  type AttributeSelector,
  type ConvertRequest,
  type ConvertResult,
  type FormatName,
  type JsonSchema,
  type PageVerdict,
  type SelectorSchema,
} from '@troupe/contracts';
import { ATTRIBUTES_CUT, noAttributes, readAttributes, type AttributeValues } from './attributes.js';
import { decodeBody } from './charset.js';
import { writeCleanHtml } from './clean-html.js';
import { collectImages } from './images.js';
import { lackingContent, readEmbedded, type EmbeddedContent } from './embedded/embedded-content.js';
import { jsonBytes } from './json-bytes.js';
import { noDiscovery, collectLinks, discover, forbidsFollowing, type LinkRules } from './links.js';
import { writeMarkdown } from './markdown/markdown.js';
import { fenceFor } from './markdown/markdown-escape.js';
import { type Mask, measure, parseHtml, type Tree } from '@troupe/html';
import { kindOfContent } from './media-type.js';
import { baseHref, readPageFacts } from './metadata/metadata.js';
import { pickFacts } from './facts/pick-facts.js';
import { readFacts, type Facts } from './facts/read-facts.js';
import { readJsonLd } from './metadata/json-ld.js';
import { orElse, writePlainText } from './plain-text.js';
import { select, tagMask, wholePage } from '@troupe/main-content';
import { UrlResolver } from './url-resolver.js';
import { judgePage } from './verdict.js';

/** Brings a value into the form of a schema as far as that goes; the warnings say what was changed, or what is still wrong. */
export type FitSchema = (schema: JsonSchema, value: unknown) => { value: unknown; warnings: string[] };

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
  const { content, loss } = writeFormats({ request, rules, tree, urls, whole: { mask, measures }, embedded });
  const metadata = mergeMetadata(facts.metadata, request.metadata);
  if (loss !== undefined) metadata['contentLoss'] = Number(loss.toFixed(3));
  return {
    verdict,
    ...encode({ ...withCaptured(content, request.captured), metadata }),
    title: facts.title,
    outlinks: found.outlinks,
    excluded: found.excluded,
    refreshUrl: facts.refreshUrl,
    canonicalUrl: facts.canonicalUrl,
    numPages: null,
    isDocument: false,
  };
}

export type Content = Partial<Record<Exclude<FormatName, 'attributes' | 'json'>, string | string[]>> & {
  attributes?: AttributeValues;
  /** Picked by selectors; what a model makes of a page is none of the converter's. */
  json?: unknown;
  warning?: string;
};

interface Parsed {
  readonly request: ConvertRequest;
  readonly rules: PageRules;
  readonly tree: Tree;
  readonly urls: UrlResolver;
  readonly whole: Parameters<typeof select>[2];
  /** Null when the document is not the page's main content. */
  readonly embedded: EmbeddedContent | null;
}

/** Formats that show what of the page was asked for; the others are made of the page as it is, or captured by a browser. */
const SELECTED_FORMATS: readonly FormatName[] = ['markdown', 'html', 'links', 'images'];

function askedAttributes({ formats }: ConvertRequest['spec']): AttributeSelector[] | null {
  return formats.find((format) => format.type === 'attributes')?.selectors ?? null;
}

interface AskedFacts {
  selectors: SelectorSchema;
  schema: JsonSchema | null;
}

function askedFacts({ formats }: ConvertRequest['spec']): AskedFacts | null {
  for (const format of formats) {
    if (format.type === 'json' && format.selectors !== null)
      return { selectors: format.selectors, schema: format.schema };
  }
  return null;
}

function fittedFacts(facts: Facts, schema: JsonSchema | null, fit: FitSchema | undefined): Facts {
  if (schema === null || fit === undefined) return facts;
  const { value, warnings } = fit(schema, facts.value);
  return { value, warnings: [...facts.warnings, ...warnings] };
}

function isMainContent(spec: ConvertRequest['spec']): boolean {
  return spec.onlyMainContent && spec.includeTags.length === 0;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** @returns also which share of the content a search for the main content left out, if there was one */
export function writeFormats({ request, rules, tree, urls, whole, embedded }: Parsed): {
  content: Content;
  loss?: number | undefined;
} {
  const { spec } = request;
  const wanted = new Set<FormatName>(spec.formats.map((format) => format.type));
  const content: Content = {};
  if (wanted.has('rawHtml')) content.rawHtml = tree.source;
  const warn = (text: string): void => void (content.warning = [text, content.warning ?? []].flat().join(' '));
  const attributesAsked = askedAttributes(spec);
  if (attributesAsked !== null) {
    const { attributes, isCut } = readAttributes(tree, attributesAsked);
    content.attributes = attributes;
    if (isCut) warn(ATTRIBUTES_CUT);
  }
  const asked = askedFacts(spec);
  if (asked !== null) {
    const facts = fittedFacts(
      readFacts({ tree, urls, mask: tagMask(tree, spec, whole.measures) }, asked.selectors),
      asked.schema,
      rules.fitSchema,
    );
    content.json = facts.value;
    facts.warnings.forEach(warn);
  }
  if (!SELECTED_FORMATS.some((format) => wanted.has(format))) return { content };
  const { mask, loss, warning } = orElse(
    () => select(tree, spec, whole),
    () => select(tree, { ...spec, onlyMainContent: false }, whole),
    () => warn('The main content could not be found: the whole page is returned.'),
  );
  if (warning !== undefined) warn(warning);
  const options = { urls, removeBase64Images: spec.removeBase64Images };
  const shown = [{ tree, mask }];
  if (wanted.has('markdown')) {
    content.markdown = orElse(
      () => {
        const markdown = writeMarkdown(tree, mask, options, whole.measures.ownFound);
        const lacking = embedded === null ? null : lackingPart(embedded, markdown);
        if (lacking === null) return markdown;
        shown.push(lacking);
        return `${markdown}\n\n${writeMarkdown(lacking.tree, lacking.mask, options)}`.trim();
      },
      () => writePlainText(tree, mask),
      () => warn('The page could not be written as markdown: its plain text is returned.'),
    );
  }
  if (wanted.has('html')) content.html = writeCleanHtml(tree, mask, urls);
  const inShown = (collect: typeof collectLinks) => [
    ...new Set(shown.flatMap((part) => collect(part.tree, part.mask, urls))),
  ];
  if (wanted.has('links')) content.links = inShown(collectLinks);
  if (wanted.has('images')) content.images = inShown(collectImages);
  return { content, loss };
}

/** What a page only carries as data, and its markdown lacks. */
function lackingPart(embedded: EmbeddedContent, markdown: string): { tree: Tree; mask: Mask } | null {
  const html = lackingContent(embedded, markdown);
  if (html === '') return null;
  const tree = parseHtml(html);
  return { tree, mask: wholePage(tree) };
}

/** What the browser gave beside the page; its warning comes after the converter's own. */
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

const NO_BRANDING = 'Only HTML pages have a branding.';
const NO_FACTS = 'Selectors find something in HTML pages only.';

function convertText(request: ConvertRequest, text: string, kind: 'json' | 'xml' | 'text'): ConvertResult {
  const isBlank = text.trim() === '';
  const verdict: PageVerdict = isBlank ? 'empty' : 'content';
  const markdown = kind === 'text' || isBlank ? text : fenced(text, kind);
  const content: Content = {};
  const asked = askedFacts(request.spec);
  if (asked !== null) {
    content.json = pickFacts('', request.url, asked.selectors).value;
    content.warning = NO_FACTS;
  }
  for (const format of request.spec.formats) {
    if (format.type === 'markdown') content.markdown = markdown;
    else if (format.type === 'rawHtml') content.rawHtml = text;
    else if (format.type === 'html') {
      content.html = `<pre>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</pre>`;
    } else if (format.type === 'attributes') content.attributes = noAttributes(format.selectors);
    else if (format.type === 'links' || format.type === 'images') content[format.type] = [];
    else if (format.type === 'branding' && request.captured?.branding === undefined)
      content.warning = [NO_BRANDING, content.warning ?? []].flat().join(' ');
  }
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

function fenced(text: string, language: string): string {
  const fence = fenceFor(text, '`', 3);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}
