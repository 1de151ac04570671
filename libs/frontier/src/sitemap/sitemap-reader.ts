/**
 * Sitemaps of every kind from a stream of text: XML url sets and indexes (prefixed or not), RSS and Atom feeds, and
 * plain text with one URL a line. Tolerant: a broken file yields what could be read, and says so in `broken`. No entity
 * is expanded beyond the five of XML and character references; everything is capped.
 */
import { MAX_LOC_CHARS, type SitemapItem, type SitemapSyntax } from './sitemap-syntax.js';
import { TextSitemapReader } from './text-sitemap-reader.js';
import { XmlSitemapReader } from './xml-sitemap-reader.js';

/** Entries of one file (the protocol's own limit); further ones are not read. */
export const MAX_SITEMAP_ITEMS = 50_000;
/** Characters of one file. */
export const MAX_SITEMAP_CHARS = 50 * 1024 * 1024;

export class SitemapReader {
  private syntax: SitemapSyntax | null = null;
  private items: SitemapItem[] = [];
  private itemCount = 0;
  private charCount = 0;
  private stopped = false;

  /** The file was damaged, or was cut at a cap. Known for sure only after `end`. */
  get broken(): boolean {
    return this.stopped || (this.syntax?.broken ?? false);
  }

  /** Items completed by this piece of text, in document order. */
  write(text: string): SitemapItem[] {
    if (this.stopped) return [];
    this.charCount += text.length;
    if (this.charCount > MAX_SITEMAP_CHARS) this.stopped = true;
    const piece = this.syntax === null ? text.replace(/^[\uFEFF\s]+/, '') : text;
    if (piece === '') return [];
    this.syntax ??= this.open(piece);
    this.syntax.write(piece);
    return this.take();
  }

  /** The rest. The reader is of no use afterwards. */
  end(): SitemapItem[] {
    this.syntax?.end();
    return this.take();
  }

  private open(first: string): SitemapSyntax {
    const report = (item: SitemapItem): void => this.report(item);
    return first.startsWith('<') ? new XmlSitemapReader(report) : new TextSitemapReader(report);
  }

  private report(item: SitemapItem): void {
    if (item.loc === '' || item.loc.length > MAX_LOC_CHARS) return;
    if (this.itemCount >= MAX_SITEMAP_ITEMS) {
      this.stopped = true;
      return;
    }
    this.itemCount++;
    this.items.push(item);
  }

  private take(): SitemapItem[] {
    const items = this.items;
    this.items = [];
    return items;
  }
}
