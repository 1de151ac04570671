import { type MapLink, type MapSpec } from '@troupe/contracts';
import { readPageUrl } from '../validation/page-url.js';
import { type MapDto } from './map.dto.js';
import { locationFromV2 } from './page-view.mapper.js';

const DEFAULT_LIMIT = 100;
const CEILING_MS = 120_000;

export function mapSpecFromV2(body: MapDto): MapSpec {
  const page = readPageUrl(body.url);
  return {
    url: page.ok ? page.url : body.url,
    search: body.search?.trim() || null,
    limit: body.limit ?? DEFAULT_LIMIT,
    sitemap: body.sitemap ?? 'include',
    includeSubdomains: body.includeSubdomains ?? true,
    ignoreQueryParameters: body.ignoreQueryParameters ?? true,
    allowExternalLinks: body.allowExternalLinks ?? false,
    includePaths: body.includePaths ?? [],
    excludePaths: body.excludePaths ?? [],
    regexOnFullUrl: body.regexOnFullURL ?? false,
    filterByPath: body.filterByPath ?? true,
    headers: body.headers ?? {},
    location: locationFromV2(body.location),
    timeoutMs: Math.min(body.timeout ?? CEILING_MS, CEILING_MS),
  };
}

/** At most one link from below a site's root is rarely what was meant. */
export function mapWarning(spec: MapSpec, links: MapLink[]): string | undefined {
  if (links.length > 1 || spec.limit === 1 || new URL(spec.url).pathname === '/') return undefined;
  return 'Only one link or none was found below this address. Map the root of the site, or set filterByPath to false.';
}
