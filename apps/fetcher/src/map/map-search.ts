/** The text search of a map: matching links and their order (docs/api/map.md). */
import type { MapLink } from '@troupe/contracts';
import { TimeSlice } from '@troupe/observability';

/** Weights by the place of the match, best first. */
const WEIGHT = { title: 4, lastSegment: 3, url: 2, description: 1 } as const;
/** Above the length of any URL. */
const LENGTHS = 4096;

/**
 * Links whose URL, title or description contains the text. Case and the separators that URLs use for spaces do not
 * matter. An empty text is in everything.
 */
export class LinkSearch {
  private readonly wanted: string;

  constructor(text: string) {
    this.wanted = plainText(text);
  }

  /** 0: not found. */
  rank({ url, title, description }: MapLink): number {
    const wanted = this.wanted;
    const address = plainText(decodedUrl(url));
    let rank = 0;
    if (title !== undefined && plainText(title).includes(wanted)) rank += WEIGHT.title;
    if (address.includes(wanted)) rank += WEIGHT.url + (lastSegment(address).includes(wanted) ? WEIGHT.lastSegment : 0);
    if (description !== undefined && plainText(description).includes(wanted)) rank += WEIGHT.description;
    return rank;
  }
}

/**
 * The best `count` links, best first; links of equal rank keep shorter URLs first, then their order. By buckets, so
 * that a hundred thousand links need no sort in one go.
 */
export async function bestLinks(ranked: Iterable<{ link: MapLink; rank: number }>, count: number): Promise<MapLink[]> {
  const slice = new TimeSlice();
  const buckets = new Map<number, MapLink[]>();
  for (const { link, rank } of ranked) {
    if (rank > 0) put(buckets, rank * LENGTHS - Math.min(link.url.length, LENGTHS - 1), link);
    if (slice.isOver) await slice.next();
  }
  const best: MapLink[] = [];
  for (const key of [...buckets.keys()].sort((a, b) => b - a)) {
    for (const link of buckets.get(key)!) if (best.push(link) >= count) return best;
    if (slice.isOver) await slice.next();
  }
  return best;
}

function put(buckets: Map<number, MapLink[]>, key: number, link: MapLink): void {
  const bucket = buckets.get(key);
  if (bucket === undefined) buckets.set(key, [link]);
  else bucket.push(link);
}

function plainText(text: string): string {
  return text
    .toLowerCase()
    .replace(/[\s_+-]+/g, ' ')
    .trim();
}

function lastSegment(address: string): string {
  const path = address.replace(/[?#].*$/s, '').replace(/[/ ]+$/, '');
  return path.slice(path.lastIndexOf('/') + 1);
}

function decodedUrl(url: string): string {
  if (!url.includes('%')) return url;
  try {
    return decodeURI(url);
  } catch {
    return url;
  }
}
