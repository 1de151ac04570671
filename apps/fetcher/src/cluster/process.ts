/** Values that a fetcher is given when its process begins, and their injection tokens. */
import type { TroupeConfig } from '@troupe/config';
import type { Tracer } from '@troupe/contracts';
import type { NatsLink } from '@troupe/messaging';
import type { Logger, Metrics } from '@troupe/observability';
import { serves, type BrowsersHere } from './browsers-here.js';

export type Config = Readonly<TroupeConfig>;

export interface FetcherProcess {
  config: Config;
  log: Logger;
  metrics: Metrics;
  tracer: Tracer;
  /** Unique for this process, see `ServiceContext`. */
  instance: string;
  link: NatsLink;
  here: BrowsersHere;
}

export const CONFIG = Symbol('Config');
export const LOG = Symbol('Log');
export const TRACER = Symbol('Tracer');
export const INSTANCE = Symbol('instance');
export const BROWSERS_HERE = Symbol('BrowsersHere');
/** boolean: this process shows pages in a browser of its own. */
export const HAS_BROWSER = Symbol('has a browser');
/** The installation's name in robots.txt. */
export const ROBOTS_AGENT = Symbol('robots agent');

/** It takes pages of any kind, robots.txt, sitemaps and maps; else only pages that need a browser. */
export function servesHttp(config: Pick<Config, 'fetcherClasses'>): boolean {
  return serves(config, 'http');
}

/** The installation's name in robots.txt: `Troupe/0.1` -> `Troupe`. */
export function robotsAgentOf({ userAgent }: Pick<Config, 'userAgent'>): string {
  return userAgent.split(/[/\s]/)[0] ?? userAgent;
}
