/** The sites: one with every peculiarity of the web, and plain ones by size. */
import {
  page,
  redirect,
  type HostResources,
  type Link,
  type Resource,
  type SiteBuilder,
  type Thing,
} from './resource.js';

const html = (source: string, links: string[] = []): Resource => ({
  type: 'file',
  contentType: 'text/html',
  body: Buffer.from(source),
  links,
});

function chapter(paths: string[], more: Link[] = []): Resource {
  return page([...paths, ...more, '/']);
}

/** Host 0 is crawled, host 1 is somebody else's. */
export const peculiarSite: SiteBuilder = ([own, other]) => [
  {
    ...front(own!, other!),
    ...redirects(other!),
    ...refusals(),
    ...duplicates(own!),
    ...traps(),
    ...errorsAndFiles(),
    ...encodings(),
    ...scripts(),
    ...levels(),
    ...sitemaps(own!, other!),
  },
  {
    '/': page(['/elsewhere', `${own}/from-elsewhere`]),
    '/elsewhere': page(),
    '/bounce': redirect(`${own}/t/bounced`),
  },
];

function front(own: string, other: string): HostResources {
  const chapters = [
    'redirects',
    'robots',
    'nofollow',
    'dups',
    'traps',
    'errors',
    'files',
    'charsets',
    'scripts',
    'deep/1',
  ];
  const odd = [
    '#top',
    'mailto:a@b.invalid',
    'javascript:void(0)',
    'tel:123',
    'ftp://127.0.0.1/x',
    'http://[bad',
    'data:,x',
    '',
  ];
  return {
    '/': page([...chapters.map((name) => `/${name}`), '/base/start', '/slow', ...odd, `${other}/`, other]),
    '/slow': page(['/after-slow'], { delayMs: 1500 }),
    '/after-slow': page(),
    '/base/start': page(['page', '/base/rooted', '?query=1'], { base: '/based/' }),
    '/based/page': page(),
    '/based/?query=1': page(),
    '/base/rooted': page(),
    '/robots.txt': {
      type: 'robots',
      groups: [
        { agent: '*', disallow: ['/'] },
        { agent: 'Troupe', disallow: ['/private/', '/secret'], allow: ['/private/open'] },
      ],
      sitemaps: [`${own}/sitemap-index.xml`, `${own}/sitemap-extra.xml`],
    },
  };
}

function redirects(other: string): HostResources {
  const statuses = [301, 302, 303, 307, 308] as const;
  const plain = Object.fromEntries(
    statuses.flatMap((status) => [
      [`/r/${status}`, redirect(`/t/${status}`, status)],
      [`/t/${status}`, page([`/t/after-${status}`])],
      [`/t/after-${status}`, page()],
    ]),
  ) as HostResources;
  const more = ['chain', 'known', 'outside', 'back', 'loop', 'self', 'missing', 'relative', 'fragment'];
  const meta = ['soon', 'late', 'known', 'self'];
  return {
    ...plain,
    '/redirects': chapter([
      ...statuses.map((status) => `/r/${status}`),
      ...more.map((name) => `/r/${name}`),
      ...meta.map((name) => `/m/${name}`),
    ]),
    '/r/chain': redirect('/r/chain-2', 301),
    '/r/chain-2': redirect('chain-3', 302),
    '/r/chain-3': redirect('/t/chain', 307),
    '/t/chain': page(),
    '/r/known': redirect('/redirects'),
    '/r/outside': redirect(`${other}/`),
    '/r/back': redirect(`${other}/bounce`),
    '/t/bounced': page(),
    '/r/loop': redirect('/r/loop-2'),
    '/r/loop-2': redirect('/r/loop'),
    '/r/self': redirect('/r/self'),
    '/r/missing': redirect('/t/missing'),
    '/r/relative': redirect('../t/relative?x=1'),
    '/t/relative?x=1': page(),
    '/r/fragment': redirect('/t/fragment#part'),
    '/t/fragment': page(),
    '/m/soon': page(['/m/not-read'], { refresh: { seconds: 0, to: '/t/refreshed' } }),
    '/t/refreshed': page(),
    '/m/late': page(['/m/read'], { refresh: { seconds: 30, to: '/t/late' } }),
    '/m/read': page(),
    '/m/known': page([], { refresh: { seconds: 1, to: '/redirects' } }),
    '/m/self': page([], { refresh: { seconds: 1, to: '/m/self' } }),
  };
}

function refusals(): HostResources {
  return {
    '/robots': chapter([
      '/private/linked',
      '/private/open/door',
      '/secrets',
      '/private',
      '/r/private',
      '/r/hops',
      '/m/private',
    ]),
    '/private/linked': page(),
    '/private/open/door': page(),
    '/private': page(),
    '/secrets': page(),
    '/r/private': redirect('/private/behind-redirect'),
    '/private/behind-redirect': page(),
    '/r/hops': redirect('/r/hops-2', 307),
    '/r/hops-2': redirect('/secret/hop'),
    '/secret/hop': redirect('/t/after-secret'),
    '/t/after-secret': page(),
    '/m/private': page([], { refresh: { seconds: 0, to: '/private/behind-refresh' } }),
    '/private/behind-refresh': page(),
    '/nofollow': chapter(['/nf/meta', '/nf/header', '/nf/rel', '/nf/noindex', '/nf/none']),
    '/nf/meta': page(['/nf/hidden-1'], { robotsMeta: 'noarchive, NoFollow' }),
    '/nf/header': page(['/nf/hidden-2'], { robotsTag: 'nofollow' }),
    '/nf/rel': page([
      { href: '/nf/hidden-3', rel: 'noopener nofollow' },
      { href: '/nf/shown', rel: 'noopener' },
    ]),
    '/nf/noindex': page(['/nf/shown-too'], { robotsMeta: 'noindex' }),
    '/nf/none': page(['/nf/hidden-4'], { robotsMeta: 'none' }),
    ...Object.fromEntries(
      ['shown', 'shown-too', 'hidden-1', 'hidden-2', 'hidden-3', 'hidden-4'].map((name) => [`/nf/${name}`, page()]),
    ),
  };
}

function duplicates(own: string): HostResources {
  const spellings = [
    '/dup/one#a',
    '/dup/one#b',
    '/dup/one/',
    '/dup/one/index.html',
    '/dup/x/../one',
    `${own.replace('http:', 'HTTP:')}/dup/one`,
    '/dup/query?a=1&b=2',
    '/dup/query?b=2&a=1',
    '/dup/query?a=1&b=2#c',
    '/dup/%7etilde',
    '/dup/~tilde',
    '/dup/caf%c3%a9',
    '/dup/café',
    '/dup/two/index.html',
    '/dup/two/',
    '/dup/Case',
    '/dup/case',
  ];
  const paths = [
    'one',
    'one/',
    'one/index.html',
    'query',
    'query?a=1&b=2',
    'query?b=2&a=1',
    '~tilde',
    'caf%C3%A9',
    'two',
    'two/',
    'two/index.html',
    'Case',
    'case',
  ];
  return { '/dups': chapter(spellings), ...Object.fromEntries(paths.map((path) => [`/dup/${path}`, page(['/dups'])])) };
}

function traps(): HostResources {
  const echo = page(['echo/']);
  return {
    '/traps': chapter(['/trap/echo/', `/trap/long?q=${'x'.repeat(2100)}`, '/trap/wide']),
    '/trap/echo/': echo,
    '/trap/echo/echo/': echo,
    '/trap/echo/echo/echo/': echo,
    '/trap/wide': page(Array.from({ length: 60 }, (_, i) => `/trap/wide/${i % 20}#${i}`)),
    ...Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`/trap/wide/${i}`, page(['/trap/wide'])])),
  };
}

function errorsAndFiles(): HostResources {
  const broken = (status: number): Resource => ({ type: 'error', status, links: ['/e/not-followed'] });
  const file = (contentType: string, body: string): Resource => ({
    type: 'file',
    contentType,
    body: Buffer.from(body),
  });
  return {
    '/errors': chapter(['/e/missing', '/e/400', '/e/403', '/e/410', '/e/500', '/e/502']),
    ...Object.fromEntries([400, 403, 410, 500, 502].map((status) => [`/e/${status}`, broken(status)])),
    '/files': chapter(
      [
        'picture.png',
        'archive.zip',
        'style.css',
        'report.pdf',
        'download',
        'notes.txt',
        'data.json',
        'feed.xml',
        'void',
        'mislabelled',
      ].map((name) => `/f/${name}`),
    ),
    '/f/picture.png': file('image/png', '\x89PNG\r\n\x1a\n'),
    '/f/archive.zip': file('application/zip', 'PK\x03\x04'),
    '/f/style.css': file('text/css', 'a { color: red }'),
    '/f/report.pdf': file('application/pdf', '%PDF-1.4\n%\xe2\xe3\n'),
    '/f/download': file('application/octet-stream', '\x00\x01\x02\x03'),
    '/f/notes.txt': file('text/plain', 'Plain notes.'),
    '/f/data.json': file('application/json', '{"links":["/f/not-a-link"]}'),
    '/f/feed.xml': file('application/xml', '<feed><entry>News</entry></feed>'),
    '/f/void': html(''),
    '/f/mislabelled': html('<p>Short, without a title, <a href=/f/unquoted>and an unquoted link', ['/f/unquoted']),
    '/f/unquoted': page(),
  };
}

function encodings(): HostResources {
  const words = 'Grüße aus Köln: façade, œuvre';
  const latin = Buffer.from(words.replaceAll('œ', 'oe'), 'latin1');
  const latinText = words.replaceAll('œ', 'oe');
  const greek = 'Καλημέρα';
  // ISO-8859-7 by hand: this alphabet lies at a fixed distance from Unicode.
  const greekBytes = Buffer.from([...greek].map((char) => char.codePointAt(0)! - 0x2d0));
  const japanese = { text: '日本語', bytes: Buffer.from([0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea]) };
  const meta = (charset: string): string => `<meta charset="${charset}">`;
  return {
    '/charsets': chapter(
      ['header', 'meta', 'lying', 'bare', 'greek', 'sjis', 'utf16', 'bom'].map((name) => `/c/${name}`),
    ),
    '/c/header': page([], { foreign: { text: latinText, bytes: latin, contentType: 'text/html; charset=ISO-8859-1' } }),
    '/c/meta': page([], {
      foreign: { text: latinText, bytes: latin, contentType: 'text/html', meta: meta('windows-1252') },
    }),
    '/c/lying': page([], {
      foreign: {
        text: words,
        bytes: Buffer.from(words),
        contentType: 'text/html; charset=utf-8',
        meta: meta('iso-8859-1'),
      },
    }),
    '/c/bare': page([], { foreign: { text: words, bytes: Buffer.from(words), contentType: 'text/html' } }),
    '/c/greek': page([], { foreign: { text: greek, bytes: greekBytes, contentType: 'text/html; charset=iso-8859-7' } }),
    '/c/sjis': page([], { foreign: { ...japanese, contentType: 'text/html', meta: meta('Shift_JIS') } }),
    '/c/utf16': page([], {
      foreign: { text: greek, bytes: Buffer.from('\ufeff' + greek, 'utf16le'), contentType: 'text/html' },
    }),
    '/c/bom': page([], {
      foreign: { text: words, bytes: Buffer.from(words), contentType: 'text/html; charset=UTF-8' },
    }),
  };
}

function scripts(): HostResources {
  return {
    '/scripts': chapter(['/js/app']),
    '/js/app': page(['/js/made-by-script'], { isScripted: true }),
    '/js/made-by-script': page(),
  };
}

/** A ladder of six levels: what a depth of N holds is the same whatever the order. */
function levels(): HostResources {
  return Object.fromEntries(
    Array.from({ length: 6 }, (_, i) => [`/deep/${i + 1}`, page([`/deep/${i + 2}`, `/deep/leaf-${i + 1}`])]).flatMap(
      ([path, resource], i) => [
        [path, resource],
        [`/deep/leaf-${i + 1}`, page()],
      ],
    ),
  ) as HostResources;
}

function sitemaps(own: string, other: string): HostResources {
  const urls = (...paths: string[]): string[] => paths.map((path) => own + path);
  const leaves = ['/s/linked', '/s/2', '/s/3', '/s/4', '/s/5', '/s/6', '/s/7'];
  return {
    '/sitemap-index.xml': {
      type: 'sitemap',
      form: 'xml',
      files: urls(
        '/sitemap-a.xml',
        '/sitemap-b.xml.gz',
        '/sitemap-c.txt',
        '/sitemap-cut.xml',
        '/sitemap-noise.gz',
        '/sitemap-missing.xml',
        '/sitemap-page',
        '/sitemap-index.xml',
        '/sitemap-nested.xml',
      ),
    },
    '/sitemap-a.xml': {
      type: 'sitemap',
      form: 'xml',
      urls: [
        ...urls('/s/1', '/s/2', '/s/2#again', '/s/q?a=1&b=2', '/private/from-sitemap', '/f/picture.png', '/s/missing'),
        `${other}/s`,
      ],
    },
    '/sitemap-b.xml.gz': { type: 'sitemap', form: 'gzip', urls: urls('/s/3') },
    '/sitemap-c.txt': { type: 'sitemap', form: 'text', urls: urls('/s/4', '/s/2') },
    '/sitemap-cut.xml': { type: 'sitemap', form: 'xml', urls: urls('/s/5'), damage: 'cut' },
    '/sitemap-noise.gz': { type: 'sitemap', form: 'gzip', damage: 'noise' },
    '/sitemap-page': page(['/s/not-in-a-sitemap']),
    '/sitemap-nested.xml': { type: 'sitemap', form: 'xml', files: urls('/sitemap-inner.xml') },
    '/sitemap-inner.xml': { type: 'sitemap', form: 'gzip', urls: urls('/s/7') },
    '/sitemap-extra.xml': { type: 'sitemap', form: 'xml', urls: urls('/s/6') },
    '/s/1': page(['/s/linked']),
    '/s/q?a=1&b=2': page(),
    ...Object.fromEntries(leaves.map((path) => [path, page()])),
  };
}

/** The same site with two things on every page, each of which stands on a neighbouring page of the description, too. */
export function stocked(build: SiteBuilder): SiteBuilder {
  return (origins) =>
    build(origins).map((resources, host) => {
      const stock = Object.entries(resources).map(([path, resource], n): [string, Resource] => [
        path,
        resource.type === 'page' ? { ...resource, things: [thing(host, n), thing(host, n + 1)] } : resource,
      ]);
      return Object.fromEntries(stock);
    });
}

function thing(host: number, n: number): Thing {
  return { name: `Lamp ${host}-${n}`, sku: `L-${host}-${n}`, price: 10 + n / 2 };
}

export interface PlainSiteOptions {
  pages: number;
  /** Of every page; the first ones lead on, so that all pages are reached. @default 10 */
  linksPerPage?: number;
  /** Paragraphs of a page. @default 3 */
  paragraphs?: number;
  /** Every page's own time. @default 0 */
  delayMs?: number;
  crawlDelayS?: number;
  disallow?: string[];
  /** Every n-th page answers 404. */
  missingEvery?: number;
}

/**
 * `/`, `/p/1` … `/p/<pages - 1>`: page n links to `2n + 1` and `2n + 2` (a tree that reaches all) and to pages far away.
 * The same on every host.
 */
export function plainSite(options: PlainSiteOptions): SiteBuilder {
  return (origins) => origins.map(() => plainHost(options));
}

const PLAIN_STRIDE = 7919;

function plainHost(options: PlainSiteOptions): HostResources {
  const { pages, linksPerPage = 10, paragraphs = 3, delayMs = 0, crawlDelayS, disallow = [], missingEvery } = options;
  const pathOf = (n: number): string => (n === 0 ? '/' : `/p/${n}`);
  const resources: HostResources = {};
  const group = { agent: '*', disallow, ...(crawlDelayS === undefined ? {} : { crawlDelayS }) };
  resources['/robots.txt'] = { type: 'robots', groups: [group] };
  for (let n = 0; n < pages; n++) {
    const tree = [2 * n + 1, 2 * n + 2].filter((child) => child < pages);
    const far = Array.from({ length: linksPerPage - 2 }, (_, i) => (n * 31 + (i + 1) * PLAIN_STRIDE) % pages);
    if (missingEvery !== undefined && n > 0 && 2 * n + 1 >= pages && n % missingEvery === 0) continue;
    resources[pathOf(n)] = page([...tree, ...far].map(pathOf), { paragraphs, delayMs });
  }
  return resources;
}

/** A front page with `width` leaves; `slow` ms each: for limits of time and place. */
export function starSite(width: number, delayMs = 0): SiteBuilder {
  return (origins) =>
    origins.map(() => ({
      '/': page(Array.from({ length: width }, (_, i) => `/leaf/${i}`)),
      ...Object.fromEntries(Array.from({ length: width }, (_, i) => [`/leaf/${i}`, page(['/'], { delayMs })])),
    }));
}
