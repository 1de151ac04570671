/** Input `index` of a run: a request to the converter, decided by seed and index alone. */
import { inSomeCharset } from './charsets.mjs';
import { hostilePage } from './hostile.mjs';
import { mutatedPage, soup } from './mutate.mjs';
import { compiled } from '../quality/kit.mjs';
import { Random } from './random.mjs';

const { pageRequest, SCOPE } = await compiled('content/page-fixture.js');

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
  const scope = { ...SCOPE, allowExternalLinks: true };
  return {
    ...pageRequest(body),
    url: random.pick([
      'http://site.test/dir/page.html',
      'http://site.test/?a=%',
      'http://xn--tda.test:8080/a/b/c/../d',
    ]),
    statusCode: random.pick([200, 200, 200, 404, 503]),
    contentType,
    rendered: random.chance(0.3),
    spec: someSpec(random),
    metadata: { statusCode: 200 },
    discover: random.chance(0.5) ? { scope, depth: 1, maxLinks: MAX_LINKS, obeyNofollow: true } : null,
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
