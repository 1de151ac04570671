/** A process of its own that opens a page which never rests and then waits to be killed. Argument: the page's address. */
import { parseAllowList, Resolver } from '@troupe/egress';
import { BrowserEngine } from './browser.engine.js';
import { BrowserPool } from './browser-pool.js';
import { browsersHere } from '@troupe/testing';
import { PLAIN_VIEW } from '../http/engine.js';
import { EgressProxy } from '../proxies/egress-proxy.js';

const url = process.argv[2] ?? '';
const allow = parseAllowList(new URL(url).host);
const resolver = new Resolver({ servers: [], allow });
const pool = new BrowserPool({
  browsers: browsersHere,
  concurrency: 1,
  proxy: new EgressProxy(resolver),
  userAgent: 'T',
});
const request = {
  url,
  headers: {},
  timeoutMs: 60_000,
  maxBytes: 1_000_000,
  skipTlsVerification: false,
  waitForMs: 60_000,
  view: PLAIN_VIEW,
  proxy: 'basic' as const,
  team: null,
  contextKey: null,
};
await new BrowserEngine({ pool, resolver, allow })
  .fetch({ ...request, onRedirect: () => Promise.resolve() }, new AbortController().signal)
  .catch(() => undefined);
