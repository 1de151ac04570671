import { DROP, KEEP, type Mask } from './mask.js';
import { A, T, TEXT } from './tags.js';
import type { Tree } from './tree.js';
import type { UrlResolver } from './url-resolver.js';

const DESCRIPTOR = /^(\d{1,9}(?:\.\d{1,9})?)([wx])$/;
const SRCSET_SPACE = /[ \t\n\r\f]+/;
const END_COMMAS = /,{1,9}$/;
const MAX_CANDIDATES = 200;

/**
 * URL of the largest candidate of a `srcset`, the first of equal ones, null when it names none.
 *
 * URLs may hold commas, so a candidate ends at white space or at a comma that ends its URL (HTML standard).
 */
function largestCandidate(srcset: string): string | null {
  let best: string | null = null;
  let bestSize = -1;
  let url: string | null = null;
  for (const part of srcset.split(SRCSET_SPACE, MAX_CANDIDATES * 2)) {
    if (part === '' || part === ',') continue;
    const isEnd = part.endsWith(',');
    const bare = isEnd ? part.replace(END_COMMAS, '') : part;
    const descriptor: RegExpExecArray | null = url === null ? null : DESCRIPTOR.exec(bare);
    const size = descriptor === null ? 1 : Number(descriptor[1]);
    if (url !== null && size > bestSize) {
      best = url;
      bestSize = size;
    }
    url = descriptor === null ? bare : null;
    if (url === null || !isEnd) continue;
    if (bestSize < 1) {
      best = url;
      bestSize = 1;
    }
    url = null;
  }
  return url !== null && bestSize < 1 ? url : best;
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

const BACKGROUND = /background(?:-image)?\s{0,4}:[^;]{0,200}?url\(\s{0,4}(["']?)([^"')\s]{1,2000})\1\s{0,4}\)/i;
const MAX_STYLE_CHARS = 10_000;

/**
 * Absolute image URLs of what the mask shows, distinct, document order; embedded data is left out. An image is an `img`, the
 * poster of a video, an image button, a background of an element's own style, or what `noscript` holds in place of them.
 */
export function collectImages(tree: Tree, mask: Mask, urls: UrlResolver): string[] {
  const found = new Set<string>();
  const add = (source: string | null): void => {
    const url = source === null || source.startsWith('data:') ? null : urls.resolve(source);
    if (url !== null && url !== '') found.add(url);
  };
  for (let node = 1; node < tree.count;) {
    if (mask[node] === DROP) {
      if (tree.tag[node] === T.noscript && mask[tree.parent[node]!] === KEEP) addUnscripted(tree, node, add);
      node = tree.end[node]!;
      continue;
    }
    if (tree.tag[node] !== TEXT) add(sourceOf(tree, node));
    node++;
  }
  return [...found];
}

function sourceOf(tree: Tree, node: number): string | null {
  const tag = tree.tag[node];
  if (tag === T.img) return imageSource(tree, node);
  if (tag === T.video) return tree.attr(node, A.poster);
  if (tag === T.input) return tree.attr(node, A.type)?.toLowerCase() === 'image' ? tree.attr(node, A.src) : null;
  if (tree.from[node] === tree.to[node]) return null;
  const style = tree.attrIndex(node, A.style);
  return style < 0 ? null : (BACKGROUND.exec(tree.attrValue(style).slice(0, MAX_STYLE_CHARS))?.[2] ?? null);
}

/** Images for readers without scripts, but not the pixels that count them. */
function addUnscripted(tree: Tree, noscript: number, add: (source: string | null) => void): void {
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
