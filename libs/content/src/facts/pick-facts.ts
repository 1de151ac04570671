/** Facts of a page when only its HTML is present. */
import type { SelectorSchema } from '@troupe/contracts';
import { baseHref } from '../metadata/metadata.js';
import { parseHtml } from '@troupe/html';
import { UrlResolver } from '../url-resolver.js';
import { readFacts, type Facts } from './read-facts.js';

export type { Facts } from './read-facts.js';

/** @param url of the page, absolute. @throws TroupeError BAD_REQUEST for a bad selector */
export function pickFacts(html: string, url: string, schema: SelectorSchema): Facts {
  const tree = parseHtml(html);
  return readFacts({ tree, urls: new UrlResolver(url, baseHref(tree)), mask: null }, schema);
}
