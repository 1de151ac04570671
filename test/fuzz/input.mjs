/** Input `index` of a run: a request to the converter, decided by seed and index alone. */
import { inSomeCharset } from './charsets.mjs';
import { hostilePage } from './hostile.mjs';
import { mutatedPage, soup } from './mutate.mjs';
import { Random } from './random.mjs';

const FORMATS = ['markdown', 'html', 'rawHtml', 'links', 'images'];
const SELECTORS = ['p', 'div', '.post, #main', 'table td', 'article > *', 'a[href^="/"]', 'h1', '*'];
const TYPES = [
  'text/html',
  'text/html; charset=utf-8',
  'application/xhtml+xml',
  'text/plain',
  'application/json',
  'text/xml',
  null,
];
const MAX_LINKS = 200;
const SCOPE = {
  base: 'http://site.test/',
  version: 1,
  includePaths: [],
  excludePaths: [],
  regexOnFullUrl: false,
  maxDepth: null,
  entireDomain: true,
  allowExternalLinks: true,
  allowSubdomains: false,
  ignoreQueryParameters: false,
  deduplicateSimilarUrls: false,
  sitemap: 'include',
};

/** @param {Random} random @param {readonly Buffer[]} corpus */
function somePage(random, corpus) {
  const kind = random.next();
  if (kind < 0.75) return mutatedPage(random, corpus);
  return kind < 0.9 ? hostilePage(random) : soup(random);
}

/** @param {Random} random */
function someSpec(random) {
  const formats = FORMATS.filter(() => random.chance(0.5));
  if (formats.length === 0) formats.push('markdown');
  return {
    formats: formats.map((type) => ({ type })),
    onlyMainContent: random.chance(0.7),
    includeTags: random.chance(0.1) ? [random.pick(SELECTORS)] : [],
    excludeTags: random.chance(0.1) ? [random.pick(SELECTORS)] : [],
    removeBase64Images: random.chance(0.5),
  };
}

/** @param {Random} random @param {Buffer} body @param {string | null} contentType */
export function requestFor(random, body, contentType) {
  return {
    body,
    url: random.pick([
      'http://site.test/dir/page.html',
      'http://site.test/?a=%',
      'http://xn--tda.test:8080/a/b/c/../d',
    ]),
    statusCode: random.pick([200, 200, 200, 404, 503]),
    contentType,
    robotsTag: null,
    rendered: random.chance(0.3),
    spec: someSpec(random),
    metadata: { statusCode: 200 },
    discover: random.chance(0.5) ? { scope: SCOPE, depth: 1, maxLinks: MAX_LINKS, obeyNofollow: true } : null,
    encoding: 'json',
  };
}

/** @param {number} seed @param {number} index @param {readonly Buffer[]} corpus */
export function inputAt(seed, index, corpus) {
  const random = new Random(Math.imul(seed, 1_000_003) + index);
  const page = somePage(random, corpus);
  if (!random.chance(0.15)) return requestFor(random, page, random.chance(0.9) ? 'text/html' : random.pick(TYPES));
  const { body, contentType } = inSomeCharset(random, page);
  return requestFor(random, body, contentType);
}
