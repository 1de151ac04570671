import { SaxesParser } from 'saxes';
import { MAX_TITLE_CHARS, type SitemapItem, type SitemapSyntax } from './sitemap-syntax.js';

/** Element that holds an address, by the element around it (`image:loc` inside `image:image` is none). */
const ADDRESS_ELEMENTS: Record<string, { child: string; type: SitemapItem['type'] }> = {
  url: { child: 'loc', type: 'url' },
  sitemap: { child: 'loc', type: 'sitemap' },
  item: { child: 'link', type: 'url' },
};
/** Elements of feeds around an address and its title, which come in any order. */
const ARTICLES = new Set(['item', 'entry']);
/** Deeper nesting is no sitemap; the parser keeps its open elements, so that it must end somewhere. */
const MAX_OPEN_ELEMENTS = 100;

/** An ampersand that starts no reference we know: common in real sitemaps, and mended, as nothing is lost by it. */
const BARE_AMPERSAND = /&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});)/g;
/** The start of a reference at the end of a piece of text. */
const CUT_REFERENCE = /&[#\w]{0,9}$/;

/** XML url sets, sitemap indexes, RSS items and Atom entries. */
export class XmlSitemapReader implements SitemapSyntax {
  broken = false;
  private readonly parser = new SaxesParser<{ xmlns: false; position: false }>({ xmlns: false, position: false });
  private readonly open: string[] = [];
  private text = '';
  private reading: SitemapItem['type'] | 'title' | null = null;
  /** The article that is being read. */
  private article: { locs: string[]; title: string } = { locs: [], title: '' };
  private isOver = false;
  private cut = '';

  constructor(private readonly report: (item: SitemapItem) => void) {
    this.parser.on('error', () => (this.broken = true));
    this.parser.on('opentag', (tag) => this.openElement(localName(tag.name), tag.attributes));
    this.parser.on('closetag', () => this.closeElement());
    this.parser.on('text', (text) => this.addText(text));
    this.parser.on('cdata', (text) => this.addText(text.replaceAll('&amp;', '&')));
  }

  write(text: string): void {
    const all = this.cut + text;
    this.cut = CUT_REFERENCE.exec(all)?.[0] ?? '';
    this.parse(all.slice(0, all.length - this.cut.length));
  }

  end(): void {
    this.parse(this.cut);
    this.attempt(() => this.parser.close());
  }

  private parse(text: string): void {
    this.attempt(() => this.parser.write(text.replace(BARE_AMPERSAND, '&amp;')));
  }

  private attempt(step: () => void): void {
    if (this.isOver) return;
    try {
      step();
    } catch {
      this.broken = true;
      this.isOver = true;
    }
  }

  private openElement(name: string, attributes: Record<string, string>): void {
    const parent = this.open.at(-1) ?? '';
    this.open.push(name);
    if (this.open.length > MAX_OPEN_ELEMENTS) throw new RangeError('elements are nested too deep');
    this.reading = readingOf(parent, name);
    this.text = '';
    if (ARTICLES.has(name)) this.article = { locs: [], title: '' };
    if (parent === 'entry' && name === 'link') this.reportAtomLink(attributes);
  }

  private reportAtomLink({ rel, href }: Record<string, string>): void {
    if (href !== undefined && (rel === undefined || rel === 'alternate')) this.article.locs.push(href.trim());
  }

  private closeElement(): void {
    const name = this.open.pop() ?? '';
    if (this.reading !== null) this.take(this.reading, this.text.trim());
    else if (ARTICLES.has(name)) this.reportArticle();
    this.reading = null;
  }

  private take(what: SitemapItem['type'] | 'title', text: string): void {
    if (what === 'title') this.article.title = text.replace(/\s+/g, ' ').slice(0, MAX_TITLE_CHARS);
    else if (ARTICLES.has(this.open.at(-1) ?? '')) this.article.locs.push(text);
    else this.report({ type: what, loc: text });
  }

  private reportArticle(): void {
    const { locs, title } = this.article;
    for (const loc of locs) this.report({ type: 'url', loc, inFeed: true, ...(title === '' ? {} : { title }) });
    this.article = { locs: [], title: '' };
  }

  private addText(text: string): void {
    if (this.reading !== null) this.text += text;
  }
}

function readingOf(parent: string, name: string): SitemapItem['type'] | 'title' | null {
  const address = ADDRESS_ELEMENTS[parent];
  if (address?.child === name) return address.type;
  return name === 'title' && ARTICLES.has(parent) ? 'title' : null;
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1).toLowerCase();
}
