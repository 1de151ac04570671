/**
 * Filters of a search, used twice: as operators for the provider, so that it finds the right pages, and as a check of
 * its results, because not every engine behind a provider knows the operators.
 */
import { type SearchCategory, type SearchSpec } from './search-spec.js';

const RESEARCH_HOSTS = [
  'arxiv.org',
  'pubmed.ncbi.nlm.nih.gov',
  'ncbi.nlm.nih.gov',
  'nature.com',
  'science.org',
  'sciencedirect.com',
  'link.springer.com',
  'ieeexplore.ieee.org',
  'dl.acm.org',
  'plos.org',
  'biorxiv.org',
  'medrxiv.org',
  'semanticscholar.org',
  'researchgate.net',
];

const DEVELOPER_HOSTS = [
  'github.com',
  'gitlab.com',
  'stackoverflow.com',
  'readthedocs.io',
  'docs.rs',
  'pypi.org',
  'npmjs.com',
  'developer.mozilla.org',
];

const OPERATORS: Record<SearchCategory, string[]> = {
  github: ['site:github.com'],
  research: RESEARCH_HOSTS.map(onSite),
  pdf: ['filetype:pdf'],
  developer: DEVELOPER_HOSTS.map(onSite),
};

type Filters = Pick<SearchSpec, 'query' | 'categories' | 'includeDomains' | 'excludeDomains'>;

/** The query with its operators. */
export function queryText({ query, categories, includeDomains, excludeDomains }: Filters): string {
  const kinds = anyOf(categories.flatMap((category) => OPERATORS[category]));
  const hosts = anyOf(includeDomains.map(onSite));
  return [query, kinds, hosts, ...excludeDomains.map((host) => `-${onSite(host)}`)]
    .filter((part) => part !== '')
    .join(' ');
}

function onSite(host: string): string {
  return `site:${host}`;
}

function anyOf(operators: string[]): string {
  return operators.length > 1 ? `(${operators.join(' OR ')})` : (operators[0] ?? '');
}

/** The first asked-for category that a page belongs to, null for none. */
export function categoryOf(url: string, asked: readonly SearchCategory[]): SearchCategory | null {
  return asked.find((category) => BELONGS[category](new URL(url))) ?? null;
}

const BELONGS: Record<SearchCategory, (url: URL) => boolean> = {
  github: ({ hostname }) => isUnder(hostname, ['github.com']),
  research: ({ hostname }) => isUnder(hostname, RESEARCH_HOSTS),
  pdf: ({ pathname }) => /\.pdf$|\/pdf\//i.test(pathname),
  developer: ({ hostname }) => isUnder(hostname, DEVELOPER_HOSTS),
};

/** Whether a result passes the filters. */
export function isWanted(url: string, { categories, includeDomains, excludeDomains }: Filters): boolean {
  const { hostname } = new URL(url);
  if (includeDomains.length > 0 && !isUnder(hostname, includeDomains)) return false;
  if (isUnder(hostname, excludeDomains)) return false;
  return categories.length === 0 || categoryOf(url, categories) !== null;
}

function isUnder(hostname: string, domains: readonly string[]): boolean {
  return domains.some((domain) => hostname === domain || hostname.endsWith(`.${domain}`));
}
