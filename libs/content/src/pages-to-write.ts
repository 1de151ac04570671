/** Pages as the formats are written from them (`PageToWrite` of @troupe/formats): HTML, other text, and files. */
import type { AttributeSelector, ConvertRequest, JsonSchema, PageDocument, SelectorSchema } from '@troupe/contracts';
import type { PageData, PageToWrite } from '@troupe/formats';
import { ATTRIBUTES_CUT, noAttributes, readAttributes } from './attributes.js';
import { writeCleanHtml } from './clean-html.js';
import { lackingContent, type EmbeddedContent } from './embedded/embedded-content.js';
import { readPageData } from './embedded/page-data.js';
import { pickFacts } from './facts/pick-facts.js';
import { readFacts, type Facts } from './facts/read-facts.js';
import { collectImages } from './images.js';
import { collectLinks } from './links.js';
import { writeMarkdown } from './markdown/markdown.js';
import { fenceFor } from './markdown/markdown-escape.js';
import type { LdGraph } from './metadata/json-ld.js';
import { parseHtml, type Mask, type Tree } from '@troupe/html';
import { orElse, writePlainText } from './plain-text.js';
import { select, tagMask, wholePage, type Selection } from '@troupe/main-content';
import type { UrlResolver } from './url-resolver.js';

/** Brings a value into the form of a schema as far as that goes. The warnings name the changes, and the parts that are still wrong. */
export type FitSchema = (schema: JsonSchema, value: unknown) => { value: unknown; warnings: string[] };

/** Warnings of a document, the last word first. */
class Warnings {
  readonly captured: ReadonlySet<string>;
  private readonly texts: string[] = [];

  constructor({ captured }: Pick<ConvertRequest, 'captured'>) {
    this.captured = new Set(Object.keys(captured ?? {}));
  }

  warn(text: string): void {
    this.texts.unshift(text);
  }

  /** Value of the key `warning` of a document; undefined without warnings. */
  warning(): { warning?: string } {
    return this.texts.length === 0 ? {} : { warning: this.texts.join(' ') };
  }
}

export interface ParsedPage {
  readonly request: ConvertRequest;
  readonly tree: Tree;
  readonly urls: UrlResolver;
  /** Null for a file that was no page before it was read. */
  readonly graph: LdGraph | null;
  readonly title: string | null;
  readonly whole: Parameters<typeof select>[2];
  /** Null when the document is not the page's main content. */
  readonly embedded: EmbeddedContent | null;
  /** The page as it came. @default the source of the tree */
  readonly source?: string | null;
  readonly fitSchema?: FitSchema | undefined;
}

interface Part {
  tree: Tree;
  mask: Mask;
}

export class HtmlPage extends Warnings implements PageToWrite {
  readonly kind = 'html';
  private selected: Selection | null = null;
  /** The part that only the page's data carry, once the markdown shows it. */
  private added: Part | null = null;

  constructor(private readonly page: ParsedPage) {
    super(page.request);
  }

  get source(): string {
    return this.page.source ?? this.page.tree.source;
  }

  /** Which share of the content a search for the main content left out, if there was one. */
  get loss(): number | undefined {
    return this.selected?.loss;
  }

  markdown(): string {
    const { tree, urls, whole, embedded, request } = this.page;
    const { mask } = this.select();
    const options = { urls, removeBase64Images: request.spec.removeBase64Images };
    return orElse(
      () => {
        const markdown = writeMarkdown(tree, mask, options, whole.measures.ownFound);
        const lacking = embedded === null ? null : lackingPart(embedded, markdown);
        if (lacking === null) return markdown;
        this.added = lacking;
        return `${markdown}\n\n${writeMarkdown(lacking.tree, lacking.mask, options)}`.trim();
      },
      () => writePlainText(tree, mask),
      () => this.warn('The page could not be written as markdown: its plain text is returned.'),
    );
  }

  html(): string {
    return writeCleanHtml(this.page.tree, this.select().mask, this.page.urls);
  }

  links(): string[] {
    return this.collect(collectLinks);
  }

  images(): string[] {
    return this.collect(collectImages);
  }

  attributes(asked: readonly AttributeSelector[]): PageDocument['attributes'] {
    const { attributes, isCut } = readAttributes(this.page.tree, asked);
    if (isCut) this.warn(ATTRIBUTES_CUT);
    return attributes;
  }

  facts(selectors: SelectorSchema, schema: JsonSchema | null): unknown {
    const { tree, urls, whole, request, fitSchema } = this.page;
    const mask = tagMask(tree, request.spec, whole.measures);
    const facts = fittedFacts(readFacts({ tree, urls, mask }, selectors), schema, fitSchema);
    facts.warnings.forEach((text) => this.warn(text));
    return facts.value;
  }

  data(): PageData | undefined {
    const { tree, urls, graph, title, request } = this.page;
    return graph === null ? undefined : readPageData(tree, { url: request.url, urls, graph, title });
  }

  private select(): Selection {
    if (this.selected !== null) return this.selected;
    const { tree, whole, request } = this.page;
    this.selected = orElse(
      () => select(tree, request.spec, whole),
      () => select(tree, { ...request.spec, onlyMainContent: false }, whole),
      () => this.warn('The main content could not be found: the whole page is returned.'),
    );
    if (this.selected.warning !== undefined) this.warn(this.selected.warning);
    return this.selected;
  }

  /** Collects from all that the document shows. */
  private collect(collectFrom: typeof collectLinks): string[] {
    const { tree, urls } = this.page;
    const shown: Part[] = [{ tree, mask: this.select().mask }, ...(this.added === null ? [] : [this.added])];
    return [...new Set(shown.flatMap((part) => collectFrom(part.tree, part.mask, urls)))];
  }
}

/** The part that a page only carries as data, and its markdown lacks. */
function lackingPart(embedded: EmbeddedContent, markdown: string): Part | null {
  const html = lackingContent(embedded, markdown);
  if (html === '') return null;
  const tree = parseHtml(html);
  return { tree, mask: wholePage(tree) };
}

function fittedFacts(facts: Facts, schema: JsonSchema | null, fit: FitSchema | undefined): Facts {
  if (schema === null || fit === undefined) return facts;
  const { value, warnings } = fit(schema, facts.value);
  return { value, warnings: [...facts.warnings, ...warnings] };
}

/** Text that is no HTML: JSON, XML, or plain. */
export class TextPage extends Warnings implements PageToWrite {
  readonly kind = 'text';

  constructor(
    private readonly request: ConvertRequest,
    readonly source: string,
    private readonly language: 'json' | 'xml' | 'text',
  ) {
    super(request);
  }

  markdown(): string {
    const { source, language } = this;
    if (language === 'text' || source.trim() === '') return source;
    const fence = fenceFor(source, '`', 3);
    return `${fence}${language}\n${source.trimEnd()}\n${fence}`;
  }

  html(): string {
    return `<pre>${this.source.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</pre>`;
  }

  links(): string[] {
    return [];
  }

  images(): string[] {
    return [];
  }

  attributes(asked: readonly AttributeSelector[]): PageDocument['attributes'] {
    return noAttributes(asked);
  }

  /** Facts of a text: none. */
  facts(selectors: SelectorSchema): unknown {
    return pickFacts('', this.request.url, selectors).value;
  }

  data(): undefined {
    return undefined;
  }
}

/** Bytes that come back in place of a reader's result. */
export class FileToReturn extends Warnings implements PageToWrite {
  readonly kind = 'file';

  constructor(
    request: ConvertRequest,
    /** In base64. */
    readonly source: string,
  ) {
    super(request);
  }

  markdown(): string {
    return this.source;
  }

  html(): string {
    return this.source;
  }

  links(): string[] {
    return [];
  }

  images(): string[] {
    return [];
  }

  attributes(): undefined {
    return undefined;
  }

  facts(): undefined {
    return undefined;
  }

  data(): undefined {
    return undefined;
  }
}
