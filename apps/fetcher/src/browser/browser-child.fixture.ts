/** A process of its own that opens a page which never rests and then waits to be killed. Argument: the page's address. */
import { parseAllowList, Resolver } from '@troupe/egress';
import { BrowserEngine } from './browser.engine.js';
import { BrowserPool } from './browser-pool.js';
import { browsersHere } from '@troupe/testing';
import { EgressProxy } from '../proxies/egress-proxy.js';
import { engineRequest } from '../http/engine-request.fixture.js';

const url = process.argv[2] ?? '';
const allow = parseAllowList(new URL(url).host);
const resolver = new Resolver({ servers: [], allow });
const pool = new BrowserPool({
  browsers: browsersHere,
  concurrency: 1,
  proxy: new EgressProxy(resolver),
  userAgent: 'T',
});
const request = engineRequest(url, { waitForMs: 60_000 });
await new BrowserEngine({ pool, resolver, allow }).fetch(request, new AbortController().signal).catch(() => undefined);
