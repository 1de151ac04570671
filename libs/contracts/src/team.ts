/** Rights of a team, beyond the defaults of the installation: the column `team.flags`. */

/** Kinds of requests that are counted together (docs/api/limits.md, "Requests per minute and team"). */
export const RATE_GROUPS = [
  'scrape',
  'crawl',
  'map',
  'search',
  'extract',
  'crawlStatus',
  'extractStatus',
  'account',
] as const;
export type RateGroup = (typeof RATE_GROUPS)[number];

export interface TeamFlags {
  /** Permits `zeroDataRetention`. */
  zeroDataRetention?: boolean;
  /** Permits `ignoreRobotsTxt`, whatever `ALLOW_IGNORE_ROBOTS` says. */
  ignoreRobots?: boolean;
  /** Requests per minute in place of the defaults; counts only with `RATE_LIMITS=on`. */
  rateLimits?: Partial<Record<RateGroup, number>>;
}
