/** Links of a page: the `links` format, and the outlinks that feed the frontier. */
import type { ConvertRequest, ExcludedLinks, Fingerprint, Outlink, ScopeRule, ScopeSpec } from '@troupe/contracts';
import { A, DROP, isPermalink, KEEP, type Mask, T, type Tree } from '@troupe/html';
import { withoutFragment, type UrlResolver } from './url-resolver.js';

/** Rules about identity and scope of URLs; the frontier lib provides them. */
export interface LinkRules {
  canonicalize(text: string, base?: string): string | null;
  whyNotCanonical(text: string, base?: string): Extract<ScopeRule, 'scheme' | 'too-long'>;
  fetchUrl(url: string, scope: Pick<ScopeSpec, 'ignoreQueryParameters'>): string;
  fingerprint(key: string): Fingerprint;
  fingerprintUrl(url: string, scope: Pick<ScopeSpec, 'ignoreQueryParameters' | 'deduplicateSimilarUrls'>): Fingerprint;
  compileScope(scope: ScopeSpec): { check(url: string, depth: number): ScopeRule | null };
}

const MAX_SAMPLE = 50;
const MAX_SAMPLE_CHARS = 2048;
/** Longest URL that is short enough when all its characters are safe. */
const MAX_PLAIN_CHARS = 2048;
const NOFOLLOW = /(?:^|[\s,])nofollow(?:[\s,]|$)/i;
const MAX_REL_CHARS = 1000;
const HASH = 35;
/** Begins with the first `#` of the address. */
const ROUTE = /^[^#]*#[/!]/;

/**
 * Absolute links of what the mask shows (`area` never shows by itself: its map does), distinct, document order; places on the
 * page itself are links, too, but for the signs behind headings.
 */
export function collectLinks(tree: Tree, mask: Mask, urls: UrlResolver): string[] {
  const found = new Set<string>();
  for (let node = 1; node < tree.count;) {
    const tag = tree.tag[node];
    const isArea = tag === T.area && mask[tree.parent[node]!] === KEEP;
    if (mask[node] === DROP && !isArea) {
      node = tree.end[node]!;
      continue;
    }
    const href = tag === T.a || isArea ? tree.attr(node, A.href) : null;
    const url = href === null || isOwnPermalink(tree, node, href) ? null : linkAddress(href, urls);
    if (url !== null) found.add(url);
    node++;
  }
  return [...found];
}

const SCRIPT_URL = /^[\x00-\x20]{0,64}(?:javascript|vbscript|data):/i;

/** Absolute address of what an `href` leads to; null for nowhere: a bare `#`, a script. An empty one leads to the page itself. */
export function linkAddress(href: string, urls: UrlResolver): string | null {
  const target = href.trim();
  return target === '#' || SCRIPT_URL.test(target) ? null : urls.resolve(target);
}

export interface Discovery {
  outlinks: Outlink[];
  excluded: ExcludedLinks;
}

export function noDiscovery(): Discovery {
  return { outlinks: [], excluded: { byRule: {}, sample: [] } };
}

/**
 * Outlinks of the whole page (whatever the mask of the document): canonical, in scope, distinct by fingerprint, document
 * order, at most `maxLinks`. A link is followed when one of its occurrences may be followed.
 *
 * Links to routes of an application (`#/…`, `#!…`) are followed where a browser has rendered the page: elsewhere they
 * would all lead to the same bytes.
 */
export function discover(
  tree: Tree,
  urls: UrlResolver,
  request: NonNullable<ConvertRequest['discover']>,
  rules: LinkRules,
  page: PageTraits,
): Discovery {
  return new OutlinkReader(tree, urls, request, rules, page).read();
}

export interface PageTraits {
  /** The page as a whole asks not to follow its links. */
  isNofollow: boolean;
  rendered: boolean;
}

class OutlinkReader {
  private readonly seen = new Map<string, 'followed' | 'nofollow'>();
  private readonly followed = new Set<Fingerprint>();
  private readonly outlinks: Outlink[] = [];
  private readonly excluded: ExcludedLinks = { byRule: {}, sample: [] };
  private readonly scope: { check(url: string, depth: number): ScopeRule | null };

  constructor(
    private readonly tree: Tree,
    private readonly urls: UrlResolver,
    private readonly request: NonNullable<ConvertRequest['discover']>,
    private readonly rules: LinkRules,
    private readonly page: PageTraits,
  ) {
    this.scope = rules.compileScope(request.scope);
  }

  read(): Discovery {
    const { tree, outlinks } = this;
    const { tag: tags, count } = tree;
    const { maxLinks } = this.request;
    for (let node = 1; node < count && outlinks.length < maxLinks; node++) {
      const tag = tags[node];
      if (tag === T.a || tag === T.area) this.readLink(node, tree.attrIndex(node, A.href));
      else if (tag === T.frame) this.readLink(node, tree.attrIndex(node, A.src));
    }
    for (const [url, state] of this.seen) if (state === 'nofollow') this.exclude(url, 'nofollow');
    return { outlinks, excluded: this.excluded };
  }

  /** @param attr index of its address, -1 when it has none */
  private readLink(node: number, attr: number): void {
    const { tree } = this;
    if (attr < 0 || tree.attrFrom[attr] === tree.attrTo[attr]) return;
    if (!this.page.rendered && tree.source.charCodeAt(tree.attrFrom[attr]!) === HASH) return;
    const href = tree.attrValue(attr);
    if (href === '' || (href.startsWith('#') && !this.isRoute(href))) return;
    const url = this.canonical(href);
    if (url === null) return this.excludeOddity(href);
    const state = this.seen.get(url);
    if (state === 'followed') return;
    if (this.mayFollow(node)) {
      this.seen.set(url, 'followed');
      this.follow(url);
    } else if (state === undefined) this.seen.set(url, 'nofollow');
  }

  private canonical(href: string): string | null {
    const link = this.urls.resolveLink(href);
    if (link === null) return null;
    if (this.isRoute(link.href)) return this.rules.canonicalize(link.href);
    const url = withoutFragment(link.href);
    return link.isCanonical && url.length <= MAX_PLAIN_CHARS ? url : this.rules.canonicalize(url);
  }

  private isRoute(href: string): boolean {
    return this.page.rendered && ROUTE.test(href);
  }

  /** Addresses that can be neither fetched nor read are counted once per text. */
  private excludeOddity(href: string): void {
    const text = href.trim().slice(0, MAX_SAMPLE_CHARS);
    if (this.seen.has(text)) return;
    this.seen.set(text, 'followed');
    this.exclude(text, this.rules.whyNotCanonical(href, this.urls.base));
  }

  private mayFollow(node: number): boolean {
    if (!this.request.obeyNofollow) return true;
    if (this.page.isNofollow) return false;
    const rel = this.tree.attr(node, A.rel);
    return rel === null || rel.length >= MAX_REL_CHARS || !NOFOLLOW.test(rel);
  }

  private follow(canonical: string): void {
    const { scope, depth } = this.request;
    const url = this.rules.fetchUrl(canonical, scope);
    const rule = this.scope.check(url, depth + 1);
    if (rule !== null) return this.exclude(url, rule);
    const h = this.rules.fingerprintUrl(url, scope);
    const { size } = this.followed;
    if (this.followed.add(h).size > size) this.outlinks.push({ url, h });
  }

  private exclude(url: string, rule: ScopeRule): void {
    const { byRule, sample } = this.excluded;
    byRule[rule] = (byRule[rule] ?? 0) + 1;
    if (sample.length < MAX_SAMPLE) sample.push({ url, h: this.rules.fingerprint(url), rule });
  }
}

const AGENT_PREFIX = /^\s*[\w.-]{1,60}\s*:/;
const VALUED = /^\s*(?:unavailable_after|max-snippet|max-image-preview|max-video-preview)\s*:/i;

/** `nofollow` or `none` among robots directives that are meant for all bots. */
export function forbidsFollowing(directives: string | null): boolean {
  if (directives === null) return false;
  let isForUs = true;
  for (const part of directives.slice(0, 10_000).split(',')) {
    if (!VALUED.test(part) && AGENT_PREFIX.test(part)) isForUs = false;
    if (isForUs && /^\s*(?:nofollow|none)\s*$/i.test(part)) return true;
  }
  return false;
}

function isOwnPermalink(tree: Tree, node: number, href: string): boolean {
  return href.startsWith('#') && isPermalink(tree, node, href);
}
