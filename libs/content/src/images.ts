import type { Mask } from './mask.js';
import { A, T } from './tags.js';
import type { Tree } from './tree.js';
import type { UrlResolver } from './url-resolver.js';

const DESCRIPTOR = /^(\d{1,9}(?:\.\d{1,9})?)([wx])$/;
const MAX_CANDIDATES = 200;

/** URL of the largest candidate of a `srcset`, null when it names none. */
export function largestCandidate(srcset: string): string | null {
  let best: string | null = null;
  let bestSize = -1;
  for (const { url, size } of candidates(srcset)) {
    if (size <= bestSize) continue;
    best = url;
    bestSize = size;
  }
  return best;
}

/** URLs may hold commas, so a candidate ends at white space or at a comma that ends its URL (HTML standard). */
function* candidates(srcset: string): Generator<{ url: string; size: number }> {
  const parts = srcset.split(/[ \t\n\r\f]+/, MAX_CANDIDATES * 2);
  let url: string | null = null;
  for (const part of parts) {
    if (part === '' || part === ',') continue;
    const isEnd = part.endsWith(',');
    const bare = isEnd ? part.replace(/,{1,9}$/, '') : part;
    const descriptor = DESCRIPTOR.exec(bare);
    if (url !== null && descriptor !== null) {
      yield { url, size: Number(descriptor[1]) };
      url = null;
      continue;
    }
    if (url !== null) yield { url, size: 1 };
    url = bare;
    if (!isEnd) continue;
    yield { url, size: 1 };
    url = null;
  }
  if (url !== null) yield { url, size: 1 };
}

const LAZY_SOURCES = [A.dataSrc, A.dataOriginal, A.dataLazySrc];

/** Source of an `img` as a reader would see it: largest candidate, lazy source instead of a placeholder; not resolved. */
export function imageSource(tree: Tree, node: number): string | null {
  const srcset = tree.attr(node, A.srcset) ?? tree.attr(node, A.dataSrcset);
  const largest = srcset === null ? null : largestCandidate(srcset);
  if (largest !== null && !largest.startsWith('data:')) return largest;
  const src = tree.attr(node, A.src);
  if (src !== null && src !== '' && !src.startsWith('data:')) return src;
  for (const lazy of LAZY_SOURCES) {
    const value = tree.attr(node, lazy);
    if (value !== null && value !== '') return value;
  }
  return src === '' ? null : (src ?? fromPicture(tree, node));
}

function fromPicture(tree: Tree, node: number): string | null {
  const picture = tree.parent[node]!;
  if (tree.tag[picture] !== T.picture) return null;
  for (let child = picture + 1; child < tree.end[picture]!; child = tree.end[child]!) {
    const srcset = tree.tag[child] === T.source ? tree.attr(child, A.srcset) : null;
    if (srcset !== null) return largestCandidate(srcset);
  }
  return null;
}

/** Absolute image URLs of what the mask shows, distinct, document order; embedded data is left out. */
export function collectImages(tree: Tree, mask: Mask, urls: UrlResolver): string[] {
  const found = new Set<string>();
  for (let node = 1; node < tree.count;) {
    if (mask[node] === 0) {
      node = tree.end[node]!;
      continue;
    }
    if (tree.tag[node] === T.img) {
      const src = imageSource(tree, node);
      const url = src === null || src.startsWith('data:') ? null : urls.resolve(src);
      if (url !== null) found.add(url);
    }
    node++;
  }
  return [...found];
}
