import { type MapDto } from '../v2/map.dto.js';
import { type ReadBody } from '../validation/read-body.js';
import { type MapV1Dto } from './map.dto.js';

const DEFAULT_LIMIT = 5000;

export function mapFromV1({ body, warnings }: ReadBody<MapV1Dto>): ReadBody<MapDto> {
  const { ignoreSitemap, sitemapOnly, ...same } = body;
  const sitemap = sitemapOnly ? 'only' : ignoreSitemap ? 'skip' : 'include';
  return { body: { ...same, limit: same.limit ?? DEFAULT_LIMIT, sitemap }, warnings };
}

/** Plain addresses in v1. */
export function mapLinksToV1(links: readonly { url: string }[]): string[] {
  return links.map(({ url }) => url);
}
