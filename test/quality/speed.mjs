/**
 * `node test/quality/speed.mjs [--peers DIR] [--passes] [--pages 200] [--rounds 3]`: CPU per page of the whole conversion,
 * against Readability on linkedom with node-html-markdown in the same process. Needs a compiled tree.
 */
import { createRequire } from 'node:module';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { bytesOf, compiled, labels, linkRules, whyNoKit } from './kit.mjs';

const { values: options } = parseArgs({
  options: {
    peers: { type: 'string', default: process.env.TROUPE_QUALITY_PEERS },
    passes: { type: 'boolean', default: false },
    pages: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '3' },
  },
});
const missing = whyNoKit();
if (missing !== null) {
  console.log(missing);
  process.exit(0);
}

const rules = await linkRules();
const { convertPage } = await compiled('content/index.js');
const { pageRequest, SCOPE } = await compiled('content/page-fixture.js');

/** @typedef {{ id: string, url: string, bytes: Buffer }} Page */

/** @param {number} most @returns {Page[]} */
function pick(most) {
  const all = labels().filter(({ dataset }) => dataset !== 'cmark' && dataset !== 'defuddle');
  const step = Math.max(1, Math.floor(all.length / most));
  const chosen = all.filter((_, index) => index % step === 0).slice(0, most);
  return chosen.map((label) => ({ id: label.id, url: label.url || 'http://site.test/', bytes: bytesOf(label) }));
}

/** @param {Page} page @param {boolean} withOutlinks */
function requestFor({ url, bytes }, withOutlinks) {
  const plain = pageRequest(bytes);
  const scope = { ...SCOPE, base: url, allowExternalLinks: true };
  return {
    ...plain,
    url,
    contentType: 'text/html',
    spec: { ...plain.spec, formats: [{ type: 'markdown' }, { type: 'links' }], onlyMainContent: true },
    metadata: { url, statusCode: 200 },
    discover: !withOutlinks ? null : { scope, depth: 0, maxLinks: 5000, obeyNofollow: true },
  };
}

/** @param {boolean} withOutlinks as for a page of a crawl @returns {(page: Page) => void} */
function ours(withOutlinks) {
  return (page) => convertPage(requestFor(page, withOutlinks), rules);
}

/** @param {string} dir @returns {(page: Page) => void} */
function peers(dir) {
  const require = createRequire(path.join(path.resolve(dir), 'package.json'));
  const { Readability } = require('@mozilla/readability');
  const { parseHTML } = require('linkedom');
  const { NodeHtmlMarkdown } = require('node-html-markdown');
  const writer = new NodeHtmlMarkdown();
  return ({ bytes }) => {
    const { document } = parseHTML(bytes.toString());
    let content = '';
    try {
      content = new Readability(document).parse()?.content ?? '';
    } catch {
      // Some pages are too much for it.
    }
    writer.translate(content);
  };
}

/** CPU microseconds of a call. @param {() => void} call */
function cost(call) {
  const before = process.cpuUsage();
  call();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** @param {Page[]} pages @param {Record<string, (page: Page) => void>} systems @param {number} rounds */
function measure(pages, systems, rounds) {
  const totals = Object.fromEntries(Object.keys(systems).map((name) => [name, 0]));
  for (let round = 0; round <= rounds; round++) {
    for (const page of pages) {
      for (const [name, convert] of Object.entries(systems)) {
        const us = cost(() => convert(page));
        if (round > 0) totals[name] += us;
      }
    }
  }
  return Object.fromEntries(Object.entries(totals).map(([name, us]) => [name, us / rounds / pages.length]));
}

/** Wall microseconds per page of every pass, one after another as `convertPage` has them. @param {Page[]} pages @param {number} rounds */
async function passes(pages, rounds) {
  const { decodeBody } = await compiled('content/charset.js');
  const { parseHtml } = await compiled('html/parse.js');
  const { UrlResolver } = await compiled('content/url-resolver.js');
  const { baseHref, readPageFacts } = await compiled('content/metadata/metadata.js');
  const { select, wholePage } = await compiled('main-content/selection.js');
  const { measure: measureText } = await compiled('html/measures.js');
  const { judgePage } = await compiled('content/verdict.js');
  const { discover, collectLinks } = await compiled('content/links.js');
  const { writeMarkdown } = await compiled('content/markdown/markdown.js');
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (let round = 0; round <= rounds; round++) {
    if (round === 1) sums.clear();
    for (const page of pages) {
      const request = requestFor(page, true);
      const take = (/** @type {string} */ name, /** @type {() => any} */ call) => {
        const startedMs = performance.now();
        const value = call();
        sums.set(name, (sums.get(name) ?? 0) + performance.now() - startedMs);
        return value;
      };
      const text = take('decode', () => decodeBody(page.bytes, request.contentType));
      const tree = take('parse', () => parseHtml(text));
      const urls = new UrlResolver(page.url, baseHref(tree));
      const facts = take('metadata', () => readPageFacts(tree, urls));
      const mask = take('mask', () => wholePage(tree));
      const measures = take('measure', () => measureText(tree, mask));
      const verdict = { tree, measures, title: facts.title, statusCode: 200, rendered: false };
      take('verdict', () => judgePage(verdict));
      take('discover', () => discover(tree, urls, request.discover, rules, false));
      const shown = take('main content', () => select(tree, request.spec, { mask, measures }));
      const markdown = take('markdown', () => writeMarkdown(tree, shown, { urls, removeBase64Images: true }));
      const links = take('links', () => collectLinks(tree, shown, urls));
      take('encode', () => new TextEncoder().encode(JSON.stringify({ markdown, links, metadata: facts.metadata })));
    }
  }
  return [...sums].map(([name, ms]) => [name, (1000 * ms) / rounds / pages.length]);
}

const pages = pick(Number(options.pages));
const rounds = Number(options.rounds);
const kb = pages.reduce((sum, { bytes }) => sum + bytes.length, 0) / pages.length / 1000;
console.log(`${pages.length} pages of ${kb.toFixed(0)} kB on average, ${rounds} rounds after one to warm up`);
if (options.passes) {
  for (const [name, us] of await passes(pages, rounds))
    console.log(`${String(name).padEnd(14)}${Number(us).toFixed(0).padStart(7)} µs`);
}
const PEERS = 'Readability + linkedom + node-html-markdown';
const systems = {
  ours: ours(false),
  'ours, outlinks discovered too': ours(true),
  ...(options.peers ? { [PEERS]: peers(options.peers) } : {}),
};
const costs = measure(pages, systems, rounds);
for (const [name, us] of Object.entries(costs)) {
  const share = PEERS in costs ? `, 1/${(costs[PEERS] / us).toFixed(1)} of the peers` : '';
  console.log(`${(us / 1000).toFixed(2).padStart(8)} ms of CPU a page${share}: ${name}`);
}
