import type { MapLink } from '@troupe/contracts';

/** Where the text was found, best first. */
const WEIGHT = { title: 4, lastSegment: 3, url: 2, description: 1 } as const;

/**
 * Links whose URL, title or description contains the text, best matches first. Case and the separators that URLs use
 * for spaces do not matter. Links of equal rank keep shorter URLs first, then their order.
 */
export function searchLinks(links: MapLink[], search: string): MapLink[] {
  const wanted = plainText(search);
  if (wanted === '') return links;
  return links
    .map((link, order) => ({ link, order, rank: rankOf(link, wanted) }))
    .filter(({ rank }) => rank > 0)
    .sort((a, b) => b.rank - a.rank || a.link.url.length - b.link.url.length || a.order - b.order)
    .map(({ link }) => link);
}

function rankOf(link: MapLink, wanted: string): number {
  let rank = 0;
  if (plainText(link.title ?? '').includes(wanted)) rank += WEIGHT.title;
  const url = plainText(decodedUrl(link.url));
  if (url.includes(wanted)) rank += WEIGHT.url;
  if (plainText(lastSegment(link.url)).includes(wanted)) rank += WEIGHT.lastSegment;
  if (plainText(link.description ?? '').includes(wanted)) rank += WEIGHT.description;
  return rank;
}

function plainText(text: string): string {
  return text
    .toLowerCase()
    .replace(/[\s_+-]+/g, ' ')
    .trim();
}

function lastSegment(url: string): string {
  const path = decodedUrl(url)
    .replace(/[?#].*$/s, '')
    .replace(/\/+$/, '');
  return path.slice(path.lastIndexOf('/') + 1);
}

function decodedUrl(url: string): string {
  try {
    return decodeURI(url);
  } catch {
    return url;
  }
}
