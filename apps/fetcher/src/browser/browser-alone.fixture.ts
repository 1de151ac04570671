/**
 * A process of its own that shows one page, prints what has become of its surroundings, and ends by itself. Argument:
 * the page's address.
 */
import { parseAllowList, Resolver } from '@troupe/egress';
import { EventEmitter } from 'node:events';
import { BrowserEngine } from './browser.engine.js';
import { BrowserPool } from './browser-pool.js';
import { loadBrowserStack } from './browser-stack.js';
import { browsersHere } from '@troupe/testing';
import { EgressProxy } from '../proxies/egress-proxy.js';
import { engineRequest } from '../http/engine-request.fixture.js';

const url = process.argv[2] ?? '';
const allow = parseAllowList(new URL(url).host);
const resolver = new Resolver({ servers: [], allow });
const proxy = new EgressProxy(resolver);
const pool = new BrowserPool({ browsers: browsersHere, concurrency: 1, proxy, userAgent: 'T' });
const engine = new BrowserEngine({ pool, resolver, allow });
const request = engineRequest(url, { timeoutMs: 30_000 });
await loadBrowserStack();
const before = countListeners();
const { statusCode } = await engine.fetch(request, new AbortController().signal);
const signals = countListeners() - before;
await engine.close();
await proxy.close();
console.log(JSON.stringify({ statusCode, signals, maxListeners: EventEmitter.defaultMaxListeners }));

/** Packages listen to signals when they are loaded; a page adds none. */
function countListeners(): number {
  return ['SIGINT', 'SIGTERM', 'SIGHUP'].reduce((sum, name) => sum + process.listenerCount(name), 0);
}
