/** Metadata of a page in the API's words, and the addresses that its head gives. */
import { RESERVED_METADATA_KEYS } from '@troupe/contracts';
import type { LdGraph } from './json-ld.js';
import { voteFacts } from './page-evidence.js';
import { collapsed } from './white-space.js';
import { A, T, type Tree } from '@troupe/html';
import type { UrlResolver } from '../url-resolver.js';

/** Meta name or property (lower case) to the API's key. */
const KNOWN_KEYS: ReadonlyMap<string, string> = new Map([
  ['keywords', 'keywords'],
  ['robots', 'robots'],
  ['og:title', 'ogTitle'],
  ['og:description', 'ogDescription'],
  ['og:url', 'ogUrl'],
  ['og:image', 'ogImage'],
  ['og:audio', 'ogAudio'],
  ['og:determiner', 'ogDeterminer'],
  ['og:locale', 'ogLocale'],
  ['og:site_name', 'ogSiteName'],
  ['og:video', 'ogVideo'],
  ['dcterms.created', 'dcTermsCreated'],
  ['dc.date.created', 'dcDateCreated'],
  ['dc.date', 'dcDate'],
  ['dcterms.type', 'dcTermsType'],
  ['dc.type', 'dcType'],
  ['dcterms.audience', 'dcTermsAudience'],
  ['dcterms.subject', 'dcTermsSubject'],
  ['dc.subject', 'dcSubject'],
  ['dc.description', 'dcDescription'],
  ['dcterms.keywords', 'dcTermsKeywords'],
  ['article:modified_time', 'modifiedTime'],
  ['article:published_time', 'publishedTime'],
  ['article:tag', 'articleTag'],
  ['article:section', 'articleSection'],
]);
const RESERVED: ReadonlySet<string> = new Set(RESERVED_METADATA_KEYS);
const WHITE_SPACE = /\s+/g;
/** Most links are style sheets. */
const MAY_BE_WANTED = /icon|canonical/i;
/** Values of one meta that take part in votes. */
const MAX_VALUES = 20;
/** Meta refreshes later than this are for reading the page first. */
const MAX_REFRESH_S = 5;
const REFRESH =
  /^\s{0,100}(\d{0,9}(?:\.\d{0,9})?)\s{0,100}(?:[;,\s]\s{0,100}(?:url\s{0,100}=\s{0,100})?(.{0,4000}))?$/is;

export interface PageFacts {
  /** Page keys and passed-through metas; never a reserved key. */
  metadata: Record<string, unknown>;
  title: string | null;
  /** All `robots` metas. */
  robots: string | null;
  refreshUrl: string | null;
  canonicalUrl: string | null;
}

/** `href` of the first `<base>`. */
export function baseHref(tree: Tree): string | null {
  for (let node = 1; node < tree.count; node++) {
    if (tree.tag[node] === T.base) {
      const href = tree.attr(node, A.href);
      if (href !== null) return href;
    }
    if (tree.tag[node] === T.body) return null;
  }
  return null;
}

/** @param graph the page's JSON-LD. */
export function readPageFacts(tree: Tree, urls: UrlResolver, graph: LdGraph): PageFacts {
  return new FactsReader(tree, urls, graph).read();
}

class FactsReader {
  private readonly known = new Map<string, string | string[]>();
  private readonly others = new Map<string, string | string[]>();
  /** Contents of all metas by lower-case name. */
  private readonly metas = new Map<string, string[]>();
  private readonly descriptions: string[] = [];
  private readonly robots: string[] = [];
  private title: string | null = null;
  private refreshUrl: string | null = null;
  private canonicalUrl: string | null = null;

  constructor(
    private readonly tree: Tree,
    private readonly urls: UrlResolver,
    private readonly graph: LdGraph,
  ) {}

  read(): PageFacts {
    const { tree } = this;
    const { tag: tags, count } = tree;
    for (let node = 1; node < count; node++) {
      const tag = tags[node];
      if (tag === T.meta) this.readMeta(node);
      else if (tag === T.link) this.readLink(node);
      else if (tag === T.title) this.readTitle(node);
      else if (tag === T.html) this.set('language', tree.attr(node, A.lang));
    }
    if (this.descriptions.length > 0) this.known.set('description', this.descriptions.join(', '));
    const rawTitle = this.title ?? textOf(this.known.get('ogTitle'));
    this.vote();
    return {
      metadata: this.assemble(),
      title: rawTitle,
      robots: this.robots.length === 0 ? null : this.robots.join(','),
      refreshUrl: this.refreshUrl,
      canonicalUrl: this.canonicalUrl,
    };
  }

  private vote(): void {
    const { metas, title } = this;
    const facts = voteFacts(this.tree, this.graph, {
      url: this.urls.base,
      host: this.urls.host,
      title,
      metas,
      language: textOf(this.known.get('language')),
    });
    if (facts.title !== null) this.known.set('title', facts.title);
    if (facts.author !== null) this.known.set('author', facts.author);
    if (facts.published !== null) this.known.set('publishedTime', facts.published);
    this.set('modifiedTime', facts.modified);
    this.set('description', facts.description);
    this.set('language', facts.language);
  }

  private assemble(): Record<string, unknown> {
    const metadata: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const [key, value] of this.others) if (!RESERVED.has(key)) metadata[key] = value;
    for (const [key, value] of this.known) metadata[key] = value;
    return metadata;
  }

  private set(key: string, value: string | null): void {
    if (value !== null && value.trim() !== '' && !this.known.has(key)) this.known.set(key, value.trim());
  }

  private readTitle(node: number): void {
    if (this.title !== null) return;
    const text = collapsed(this.tree.textContent(node));
    if (text === '') return;
    this.title = text;
  }

  private readLink(node: number): void {
    const value = this.tree.attr(node, A.rel);
    if (value === null || !MAY_BE_WANTED.test(value)) return;
    const rel = value.toLowerCase().slice(0, 200).split(WHITE_SPACE);
    const href = this.tree.attr(node, A.href);
    if (href === null || href === '') return;
    if (rel.includes('icon')) this.set('favicon', this.urls.resolve(href));
    if (rel.includes('canonical')) this.canonicalUrl ??= this.urls.resolve(href);
  }

  private readMeta(node: number): void {
    const { tree } = this;
    const content = tree.attr(node, A.content);
    if (content === null) return this.readMistaken(node);
    if (tree.attr(node, A.httpEquiv)?.trim().toLowerCase() === 'refresh') this.refreshUrl ??= this.readRefresh(content);
    const name = tree.attr(node, A.name) ?? tree.attr(node, A.property) ?? tree.attr(node, A.itemprop);
    if (name !== null && name.trim() !== '') this.keep(name.trim(), content);
  }

  /** A meta whose content stands in `value`. It takes part in votes, but has no key of its own. */
  private readMistaken(node: number): void {
    const name = this.tree.attr(node, A.name) ?? this.tree.attr(node, A.property);
    const value = this.tree.attr(node, A.value);
    if (name !== null && value !== null) this.addToVote(name.trim().toLowerCase(), value);
  }

  private addToVote(name: string, content: string): void {
    const values = this.metas.get(name);
    if (values === undefined) this.metas.set(name, [content]);
    else if (values.length < MAX_VALUES) values.push(content);
  }

  private keep(name: string, content: string): void {
    const lower = name.toLowerCase();
    this.addToVote(lower, content);
    if (lower === 'robots') this.robots.push(content);
    if (lower === 'description') return void this.descriptions.push(content.trim());
    if (lower === 'og:locale:alternate') {
      const locales = this.known.get('ogLocaleAlternate');
      if (Array.isArray(locales)) locales.push(content);
      else this.known.set('ogLocaleAlternate', [content]);
      return;
    }
    const key = KNOWN_KEYS.get(lower);
    if (key !== undefined) return this.set(key, content);
    const before = this.others.get(name);
    if (before === undefined) this.others.set(name, content);
    else if (Array.isArray(before)) before.push(content);
    else this.others.set(name, [before, content]);
  }

  private readRefresh(content: string): string | null {
    const parts = REFRESH.exec(content.slice(0, 5000));
    const target = parts?.[2]?.trim().replace(/^(["'])(.*?)\1.*$/s, '$2') ?? '';
    if (parts === null || target === '' || Number(parts[1] || 0) > MAX_REFRESH_S) return null;
    const url = this.urls.resolve(target);
    return url !== null && /^https?:/.test(url) ? url : null;
  }
}

function textOf(value: string | string[] | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
