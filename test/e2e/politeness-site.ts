/** The hosts of the politeness suite: one for each question, so that no answer disturbs another. */
import { page, type HostResources, type SiteBuilder } from '../sites/known-graph/resource.js';

/** Place of each host in the site. */
export const HOST = { contested: 0, delayed: 1, gapped: 2, busy: 3, guarded: 4, cancelled: 5, team: 6 };
export const TEAM_HOSTS = 10;
export const HOSTS = HOST.team + TEAM_HOSTS;

/** Crawls of the contested host: folder and pages, three of team a against one of team b. */
export const CONTEST = { a1: 260, a2: 260, a3: 260, b1: 520 };
export const DELAYED_PAGES = 5;
export const CRAWL_DELAY_MS = 1_000;
export const GAPPED_PAGES = 50;
export const BUSY_PAGES = { first: 40, then: 12 };
export const RETRY_AFTER_MS = 3_000;
export const CANCELLED_PAGES = 600;
export const KEPT_PAGES = 40;
export const TEAM_PAGES = 15;
/** Single scrapes of the contested host at once. */
export const SCRAPES = 8;

/** Time of page i in ms. */
type Latency = (i: number) => number;
const COMMON: Latency = (i) => 30 + ((i * 17) % 31);

/** A start page that links to `count` pages. */
function folder(name: string, count: number, latency = COMMON): HostResources {
  const paths = Array.from({ length: count }, (_, i) => `/${name}/p/${i}`);
  const pages = paths.map((path, i) => [path, page([], { delayMs: latency(i) })] as const);
  return { [`/${name}/`]: page(paths), ...Object.fromEntries(pages) };
}

function contested(): HostResources {
  const folders = Object.entries(CONTEST).map(([name, count]) => folder(name, count));
  const scraped = Array.from({ length: SCRAPES }, (_, i) => [`/single/${i}`, page([], { delayMs: 200 })] as const);
  return Object.assign(Object.fromEntries(scraped), ...folders) as HostResources;
}

function delayed(): HostResources {
  return {
    '/robots.txt': { type: 'robots', groups: [{ agent: '*', crawlDelayS: CRAWL_DELAY_MS / 1000 }] },
    ...folder('one', DELAYED_PAGES),
    ...folder('two', DELAYED_PAGES),
  };
}

/** Once all fetchers are at work, turns two pages away. */
function busy(): HostResources {
  const deep = folder('busy/deep', BUSY_PAGES.then);
  const paths = Object.keys(deep).filter((path) => path.includes('/p/'));
  return {
    ...folder('busy', BUSY_PAGES.first),
    ...deep,
    '/busy/p/0': page(paths),
    [paths[3]!]: { type: 'busy', status: 429, times: 1, retryAfterS: RETRY_AFTER_MS / 1000, page: page() },
    [paths[4]!]: { type: 'busy', status: 429, times: 1, retryAfterS: RETRY_AFTER_MS / 1000, page: page() },
  };
}

/** What robots.txt forbids is reached in every way there is: links, redirects (meta refresh too) and the sitemap. */
function guarded(origin: string): HostResources {
  return {
    '/robots.txt': {
      type: 'robots',
      groups: [{ agent: 'Troupe', disallow: ['/secret/'] }],
      sitemaps: [`${origin}/sitemap.xml`],
    },
    '/sitemap.xml': { type: 'sitemap', form: 'xml', urls: [`${origin}/open/listed`, `${origin}/secret/listed`] },
    '/': page(['/open/a', '/secret/linked', '/to-secret', '/refresh-to-secret', '/to-open']),
    '/open/a': page(['/secret/deep']),
    '/open/b': page(),
    '/open/listed': page(),
    '/to-open': { type: 'redirect', status: 302, to: '/open/b' },
    '/to-secret': { type: 'redirect', status: 301, to: '/secret/redirected' },
    '/refresh-to-secret': page([], { refresh: { seconds: 0, to: '/secret/refreshed' } }),
    ...Object.fromEntries(
      ['linked', 'deep', 'redirected', 'refreshed', 'listed'].map((name) => [`/secret/${name}`, page()]),
    ),
  };
}

export const politenessSite: SiteBuilder = (origins) => [
  contested(),
  delayed(),
  { ...folder('wide', GAPPED_PAGES, () => 0), ...folder('narrow', GAPPED_PAGES, () => 0) },
  busy(),
  guarded(origins[HOST.guarded]!),
  { ...folder('doomed', CANCELLED_PAGES), ...folder('kept', KEPT_PAGES) },
  ...Array.from({ length: TEAM_HOSTS }, () => folder('job', TEAM_PAGES, () => 150)),
];
