/**
 * Crawlee's crawler of browser pages and Playwright, loaded when they are first needed. In one go that would hold the
 * event loop for a second, and for many seconds on a busy machine: lanes would miss their heartbeats. So their largest
 * parts are loaded first, one in each turn of the loop; the rest is small.
 */
import { createRequire } from 'node:module';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BrowserType } from 'playwright-core';
import { Server } from 'proxy-chain';
import type { PageCrawler } from './page-crawler.js';

export interface BrowserStack {
  PageCrawler: typeof PageCrawler;
  chromium: BrowserType;
}

const CRAWLEE = '@crawlee/browser-pool';
const CRAWLER = '@crawlee/playwright';
const PLAYWRIGHT = 'playwright-core';

/**
 * Each is a chain of packages, in which a package is found from the one before. Dependencies come before their users.
 */
const PARTS: readonly (readonly string[])[] = [
  [CRAWLEE, 'fingerprint-generator', 'generative-bayesian-network', 'adm-zip'],
  [CRAWLEE, 'fingerprint-generator', 'generative-bayesian-network'],
  [CRAWLEE, 'fingerprint-generator', 'header-generator', 'ow'],
  [CRAWLEE, 'fingerprint-generator', 'header-generator', 'browserslist'],
  [CRAWLEE, 'fingerprint-generator', 'header-generator'],
  [CRAWLEE, 'fingerprint-generator'],
  [CRAWLEE, '@crawlee/core', '@apify/utilities'],
  [CRAWLEE, '@crawlee/core', '@crawlee/memory-storage', '@sapphire/shapeshift'],
  [CRAWLEE, '@crawlee/core', '@crawlee/memory-storage', 'fs-extra'],
  [CRAWLEE, '@crawlee/core', '@crawlee/memory-storage'],
  [CRAWLEE, '@crawlee/core', '@vladfrangu/async_event_emitter'],
  [CRAWLEE, '@crawlee/core', '@crawlee/utils', 'cheerio', 'domutils'],
  [CRAWLEE, '@crawlee/core', '@crawlee/utils', 'cheerio', 'cheerio-select'],
  [CRAWLEE, '@crawlee/core', '@crawlee/utils', 'cheerio', 'parse5-htmlparser2-tree-adapter'],
  [CRAWLEE, '@crawlee/core', '@crawlee/utils', 'cheerio'],
  [CRAWLEE, '@crawlee/core', '@crawlee/utils', 'tldts'],
  [CRAWLEE, '@crawlee/core', '@crawlee/utils'],
  [CRAWLEE, '@crawlee/core', 'stream-json'],
  [CRAWLEE, '@crawlee/core'],
];

/** Parts that need the pool of browsers, which `loadPool` loads. */
const CRAWLER_PARTS: readonly (readonly string[])[] = [
  [CRAWLER, '@crawlee/browser', '@crawlee/basic', 'csv-stringify/sync'],
  [CRAWLER, '@crawlee/browser', '@crawlee/basic'],
  [CRAWLER, '@crawlee/browser'],
  [CRAWLER, 'ml-matrix'],
  [CRAWLER],
];

const load = createRequire(import.meta.url);

export async function loadBrowserStack(): Promise<BrowserStack> {
  for (const chain of PARTS) {
    loadPart(chain);
    await nextTurn();
  }
  loadPool();
  await nextTurn();
  loadFile(path.join(path.dirname(load.resolve(PLAYWRIGHT)), 'lib/utilsBundle.js'));
  await nextTurn();
  const { chromium } = await import('playwright-core');
  await nextTurn();
  for (const chain of CRAWLER_PARTS) {
    loadPart(chain);
    await nextTurn();
  }
  const { PageCrawler } = await import('./page-crawler.js');
  return { PageCrawler, chromium };
}

/** Another version may have other parts. Those that are not found are loaded with the whole. */
function loadPart(chain: readonly string[]): void {
  const names = [...chain];
  const last = names.pop()!;
  try {
    const parent = names.reduce((require, name) => createRequire(require.resolve(name)), load);
    parent(last);
  } catch {
    return;
  }
}

function loadFile(file: string): void {
  try {
    load(file);
  } catch {
    return;
  }
}

/**
 * Loads Crawlee's pool without the proxy server that its module starts while it loads: an open one, on every interface
 * of the machine. That server is never used because a proxy of our own is always given, so it must not listen.
 */
function loadPool(): void {
  const listen = Object.getOwnPropertyDescriptor(Server.prototype, 'listen');
  if (listen === undefined) throw new Error('proxy-chain has changed: Server.listen is not where it was');
  Object.defineProperty(Server.prototype, 'listen', { ...listen, value: () => Promise.resolve() });
  try {
    load(CRAWLEE);
  } finally {
    Object.defineProperty(Server.prototype, 'listen', listen);
  }
}
