import {
  A,
  checkSelector,
  compileSelector,
  DROP,
  hashName,
  KEEP,
  type Mask,
  selectAll,
  T,
  TEXT,
  type Tree,
} from '@troupe/html';
import { withoutFragment, type UrlResolver } from './url-resolver.js';

const DESCRIPTOR = /^(\d{1,9}(?:\.\d{1,9})?)([wx])$/;
const SRCSET_SPACE = /[ \t\n\r\f]+/;
const END_COMMAS = /,{1,9}$/;
const MAX_CANDIDATES = 200;
/** Second descriptor of an old form, which says nothing of its own. */
const HEIGHT = /^\d{1,9}h$/;

interface Candidate {
  url: string;
  /** Width or density; 1 when nothing is said. */
  size: number;
}

/** URLs may hold commas, so a candidate ends at white space or at a comma that ends its URL (HTML standard). */
function candidatesOf(srcset: string): Candidate[] {
  const candidates: Candidate[] = [];
  let url: string | null = null;
  for (const part of srcset.split(SRCSET_SPACE, MAX_CANDIDATES * 2)) {
    if (part === '' || part === ',') continue;
    const isEnd = part.endsWith(',');
    const bare = isEnd ? part.replace(END_COMMAS, '') : part;
    const descriptor: RegExpExecArray | null = url === null ? null : DESCRIPTOR.exec(bare);
    if (url !== null) candidates.push({ url, size: descriptor === null ? 1 : Number(descriptor[1]) });
    url = descriptor === null ? bare : null;
    if (url === null || !isEnd) continue;
    candidates.push({ url, size: 1 });
    url = null;
  }
  if (url !== null) candidates.push({ url, size: 1 });
  return candidates.filter((candidate) => !HEIGHT.test(candidate.url));
}

/** URL of the largest candidate of a `srcset`, the first of equal ones, null when it names none. */
function largestCandidate(srcset: string): string | null {
  let best: Candidate | null = null;
  for (const candidate of candidatesOf(srcset)) if (best === null || candidate.size > best.size) best = candidate;
  return best?.url ?? null;
}

const LAZY_SOURCES = [A.dataSrc, A.dataOriginal, A.dataLazySrc, A.dataLazy];
const SRCSETS = [A.srcset, A.dataSrcset, A.dataLazySrcset];
const PLACEHOLDER =
  /(?:placeholder|spacer|blank|pixel|transparent|loading|lazy|1x1|dummy)[^/]{0,60}\.(?:gif|png|svg|jpe?g|webp)(?:\?|$)/i;

/** Source of an `img` as a reader would see it: largest candidate, lazy source instead of a placeholder; not resolved. */
export function imageSource(tree: Tree, node: number): string | null {
  const largest = fromSrcset(tree, node);
  if (largest !== null) return largest;
  const src = tree.attr(node, A.src)?.trim() ?? '';
  if (src !== '' && !isPlaceholder(src)) return src;
  for (const lazy of LAZY_SOURCES) {
    const value = tree.attr(node, lazy)?.trim() ?? '';
    if (value !== '' && !value.startsWith('data:')) return value;
  }
  return fromPicture(tree, node) ?? (src === '' ? null : src);
}

function isPlaceholder(src: string): boolean {
  return src.startsWith('data:') || PLACEHOLDER.test(src.slice(-200));
}

function fromSrcset(tree: Tree, node: number): string | null {
  for (const attribute of SRCSETS) {
    const srcset = tree.attr(node, attribute);
    const largest = srcset === null ? null : largestCandidate(srcset);
    if (largest !== null && !isPlaceholder(largest)) return largest;
  }
  return null;
}

function fromPicture(tree: Tree, node: number): string | null {
  const picture = tree.parent[node]!;
  if (tree.tag[picture] !== T.picture) return null;
  for (let child = picture + 1; child < tree.end[picture]!; child = tree.end[child]!) {
    const largest = tree.tag[child] === T.source ? fromSrcset(tree, child) : null;
    if (largest !== null) return largest;
  }
  return null;
}

/**
 * Absolute image URLs of what the mask shows, distinct, without fragments, in document order; embedded data is left out.
 * An image is every source of an `img` or `picture` (the one that is shown first), the poster of a video, an image button,
 * an image in a drawing, a background by an element's own style or by a rule of the page's `style` elements, or what
 * `noscript` holds in place of them.
 */
export function collectImages(tree: Tree, mask: Mask, urls: UrlResolver): string[] {
  const found = new Set<string>();
  const add: Add = (source) => {
    const url = source === null || source.startsWith('data:') ? null : urls.resolve(source);
    if (url !== null && url !== '') found.add(withoutFragment(url));
  };
  const backgrounds = ruledBackgrounds(tree);
  for (let node = 1; node < tree.count;) {
    if (mask[node] === DROP) {
      if (tree.tag[node] === T.noscript && mask[tree.parent[node]!] === KEEP) addUnscripted(tree, node, add);
      node = tree.end[node]!;
      continue;
    }
    if (tree.tag[node] !== TEXT) {
      addSources(tree, node, add);
      backgrounds.get(node)?.forEach(add);
    }
    node++;
  }
  return [...found];
}

type Add = (source: string | null) => void;

const XLINK_HREF = hashName('xlink:href');

function addSources(tree: Tree, node: number, add: Add): void {
  const tag = tree.tag[node];
  if (tag === T.img) return addImage(tree, node, add);
  if (tag === T.picture) return addPicture(tree, node, add);
  if (tag === T.video) return add(tree.attr(node, A.poster));
  if (tag === T.input)
    return tree.attr(node, A.type)?.toLowerCase() === 'image' ? add(tree.attr(node, A.src)) : undefined;
  if (tree.from[node] === tree.to[node]) return;
  if (tree.name(node) === 'image') add(tree.attr(node, A.href) ?? tree.attr(node, XLINK_HREF));
  const style = tree.attrIndex(node, A.style);
  if (style >= 0) backgroundsOf(tree.attrValue(style).slice(0, MAX_STYLE_CHARS)).forEach(add);
}

function addImage(tree: Tree, node: number, add: Add): void {
  add(imageSource(tree, node));
  for (const attribute of [A.src, ...LAZY_SOURCES]) addUnlessPlaceholder(tree.attr(node, attribute), add);
  for (const attribute of SRCSETS) addCandidates(tree.attr(node, attribute), add);
}

function addPicture(tree: Tree, picture: number, add: Add): void {
  for (let child = picture + 1; child < tree.end[picture]!; child = tree.end[child]!) {
    if (tree.tag[child] !== T.source) continue;
    for (const attribute of SRCSETS) addCandidates(tree.attr(child, attribute), add);
  }
}

function addUnlessPlaceholder(source: string | null, add: Add): void {
  const url = source?.trim() ?? '';
  if (url !== '' && !isPlaceholder(url)) add(url);
}

function addCandidates(srcset: string | null, add: Add): void {
  if (srcset === null) return;
  addUnlessPlaceholder(largestCandidate(srcset), add);
  for (const { url } of candidatesOf(srcset)) addUnlessPlaceholder(url, add);
}

// ---- backgrounds

const BACKGROUND = /background(?:-image)?\s{0,4}:([^;]{0,4000})/gi;
const URL_TOKEN = /url\(\s{0,4}(?:"([^"]{1,2000})"|'([^']{1,2000})'|([^"')\s]{1,2000}))\s{0,4}\)/gi;
const MAX_STYLE_CHARS = 10_000;

/** Addresses of all layers of the backgrounds that the declarations set. */
function backgroundsOf(declarations: string): string[] {
  if (!declarations.includes('url(')) return [];
  const layers = [...declarations.matchAll(BACKGROUND)].flatMap(([, value]) => [...(value ?? '').matchAll(URL_TOKEN)]);
  return layers.map(([, double, single, bare]) => double ?? single ?? bare ?? '');
}

const MAX_RULES_CHARS = 300_000;
const MAX_RULES = 200;
/** Elements that are compared with rules, all rules together: pages write the rules, and may write many. */
const MAX_TESTS = 5_000_000;
const MAX_MATCHES = 1000;
/** An image that a rule shows under a condition is an image of the page all the same. */
const CONDITION =
  /::?(?:before|after|hover|focus|focus-visible|focus-within|active|visited|first-line|first-letter)(?![\w-])/gi;

/** Backgrounds that rules of the page's own `style` elements give to its elements. */
function ruledBackgrounds(tree: Tree): Map<number, string[]> {
  const found = new Map<number, string[]>();
  const most = Math.max(1, Math.min(MAX_RULES, Math.floor(MAX_TESTS / tree.count)));
  for (const { selector, images } of backgroundRules(tree).slice(0, most)) {
    for (const node of matching(tree, selector)) found.set(node, [...(found.get(node) ?? []), ...images]);
  }
  return found;
}

/** By the last part of each selector alone: whatever a page writes, that costs no more than a look at each element. */
function matching(tree: Tree, selectors: string): number[] {
  const plain = selectors.replace(/\/\*.*?\*\//gs, '').replace(CONDITION, '');
  const last = plain.split(',').map(
    (selector) =>
      selector
        .trim()
        .split(/[\s>+~]+/)
        .at(-1) ?? '',
  );
  const simple = last.filter((part) => part !== '' && !part.includes(':') && checkSelector(part) === null).join(',');
  return simple === '' ? [] : selectAll(tree, compileSelector(simple)).slice(0, MAX_MATCHES);
}

function backgroundRules(tree: Tree): { selector: string; images: string[] }[] {
  const rules: { selector: string; images: string[] }[] = [];
  for (let node = 1; node < tree.count; node++) {
    if (tree.tag[node] !== T.style) continue;
    const css = tree.textContent(node).slice(0, MAX_RULES_CHARS);
    if (!css.includes('url(')) continue;
    for (const { selector, declarations } of innermostRules(css)) {
      const images = backgroundsOf(declarations);
      if (images.length > 0) rules.push({ selector, images });
      if (rules.length >= MAX_RULES) return rules;
    }
  }
  return rules;
}

/** Rules without others inside, so those in conditions as well. */
function* innermostRules(css: string): Generator<{ selector: string; declarations: string }> {
  let from = 0;
  for (let open = css.indexOf('{'); open >= 0;) {
    const close = css.indexOf('}', open);
    if (close < 0) return;
    const next = css.indexOf('{', open + 1);
    if (next < 0 || next > close) {
      yield { selector: css.slice(from, open).slice(-500), declarations: css.slice(open + 1, close) };
      from = close + 1;
    } else from = open + 1;
    open = next;
  }
}

/** Images for readers without scripts, but not the pixels that count them. */
function addUnscripted(tree: Tree, noscript: number, add: Add): void {
  for (let node = noscript + 1; node < tree.end[noscript]!; node++) {
    if (tree.tag[node] !== T.img || isPixel(tree, node)) continue;
    add(imageSource(tree, node));
  }
}

function isPixel(tree: Tree, node: number): boolean {
  const isTiny = (size: string | null): boolean => size !== null && /^\s{0,9}[01](?:px)?\s{0,9}$/.test(size);
  return (
    isTiny(tree.attr(node, A.width)) ||
    isTiny(tree.attr(node, A.height)) ||
    /display\s{0,4}:\s{0,4}none/i.test(tree.attr(node, A.style) ?? '')
  );
}
