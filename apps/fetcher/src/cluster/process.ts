/** What a fetcher can do, and the tokens by which its parts ask for it and for the roots of its blobs. */
import type { Config } from '@troupe/service';
import { serves } from './browsers-here.js';

export const BROWSERS_HERE = Symbol('BrowsersHere');
/** boolean: this process shows pages in a browser of its own. */
export const HAS_BROWSER = Symbol('has a browser');
/** The installation's name in robots.txt. */
export const ROBOTS_AGENT = Symbol('robots agent');
export const RESULT_BLOBS = Symbol('blobs of results');
export const ERASABLE_BLOBS = Symbol('blobs of jobs with zero data retention');
export const SNAPSHOT_BLOBS = Symbol('blobs of earlier texts');

/** It takes pages of any kind, robots.txt, sitemaps and maps; else only pages that need a browser. */
export function servesHttp(config: Pick<Config, 'fetcherClasses'>): boolean {
  return serves(config, 'http');
}

/** The installation's name in robots.txt: `Troupe/0.1` -> `Troupe`. */
export function robotsAgentOf({ userAgent }: Pick<Config, 'userAgent'>): string {
  return userAgent.split(/[/\s]/)[0] ?? userAgent;
}
