/** Numbers for tag and attribute names, so that the tree and every pass over it compare integers, not strings. */

/** FNV-1a, for callers that hash while they read. */
export const FNV_OFFSET = 0x811c9dc5 | 0;
export const FNV_PRIME = 0x01000193;

/** 32-bit hash of an ASCII-lower-cased range of a text. */
export function hashRange(text: string, from: number, to: number): number {
  let h = FNV_OFFSET;
  for (let i = from; i < to; i++) {
    let c = text.charCodeAt(i);
    if (c >= 65 && c <= 90) c |= 0x20;
    h = Math.imul(h ^ c, FNV_PRIME);
  }
  return h;
}

export function hashName(name: string): number {
  return hashRange(name, 0, name.length);
}

const TAG_NAMES = [
  '#text',
  '#document',
  ...(
    'html head body title meta link base script style noscript template ' +
    'address article aside blockquote center details dialog dir div dl dt dd fieldset figcaption figure footer form ' +
    'header hgroup hr main menu nav ol ul li p pre listing plaintext xmp search section summary ' +
    'h1 h2 h3 h4 h5 h6 table caption colgroup col thead tbody tfoot tr td th ' +
    'a abbr b bdi bdo big br button canvas cite code data datalist del dfn em embed font i iframe img input ins kbd ' +
    'label legend map area mark marquee meter nobr noembed noframes object optgroup option output param picture ' +
    'progress q rb rp rt rtc ruby s samp select slot small source span strike strong sub sup svg math path textarea ' +
    'time track tt u var video audio wbr applet frame frameset keygen image'
  ).split(' '),
] as const;

/** Tags with a number of their own; others get one per tree, from `FIRST_CUSTOM_TAG` on. */
export const FIRST_CUSTOM_TAG = 256;
export const TEXT = 0;
export const DOCUMENT = 1;

export function tagName(tag: number): string {
  return TAG_NAMES[tag] ?? '';
}

/** Number of a known tag. @throws when the name is not in the table, which is a programming error. */
export function tagOf(name: string): number {
  const tag = TAG_NAMES.indexOf(name);
  if (tag < 0) throw new Error(`${name} is not in the tag table`);
  return tag;
}

const TABLE_SIZE = 1024;
const TAG_TABLE = new Uint8Array(TABLE_SIZE);
for (let tag = 2; tag < TAG_NAMES.length; tag++) {
  let slot = hashName(TAG_NAMES[tag]!) & (TABLE_SIZE - 1);
  while (TAG_TABLE[slot] !== 0) slot = (slot + 1) & (TABLE_SIZE - 1);
  TAG_TABLE[slot] = tag;
}

function sameName(text: string, from: number, to: number, name: string): boolean {
  if (to - from !== name.length) return false;
  for (let i = 0; i < name.length; i++) {
    let c = text.charCodeAt(from + i);
    if (c >= 65 && c <= 90) c |= 0x20;
    if (c !== name.charCodeAt(i)) return false;
  }
  return true;
}

/** Number of the tag whose name is this range, 0 when it is not a known tag. @param hash `hashRange` of it */
export function lookupTag(text: string, from: number, to: number, hash = hashRange(text, from, to)): number {
  let slot = hash & (TABLE_SIZE - 1);
  for (;;) {
    const tag = TAG_TABLE[slot]!;
    if (tag === 0) return 0;
    if (sameName(text, from, to, TAG_NAMES[tag]!)) return tag;
    slot = (slot + 1) & (TABLE_SIZE - 1);
  }
}

const names = <K extends string>(list: string): Record<K, number> =>
  Object.fromEntries(list.split(' ').map((name) => [name, tagOf(name)])) as Record<K, number>;

export const T = names<
  | 'html'
  | 'head'
  | 'body'
  | 'title'
  | 'meta'
  | 'link'
  | 'base'
  | 'script'
  | 'style'
  | 'noscript'
  | 'template'
  | 'article'
  | 'aside'
  | 'blockquote'
  | 'div'
  | 'dl'
  | 'dt'
  | 'dd'
  | 'figcaption'
  | 'figure'
  | 'footer'
  | 'form'
  | 'header'
  | 'hr'
  | 'main'
  | 'nav'
  | 'ol'
  | 'ul'
  | 'li'
  | 'p'
  | 'pre'
  | 'section'
  | 'h1'
  | 'h2'
  | 'h3'
  | 'h4'
  | 'h5'
  | 'h6'
  | 'table'
  | 'caption'
  | 'colgroup'
  | 'col'
  | 'thead'
  | 'tbody'
  | 'tfoot'
  | 'tr'
  | 'td'
  | 'th'
  | 'a'
  | 'b'
  | 'br'
  | 'button'
  | 'canvas'
  | 'code'
  | 'del'
  | 'em'
  | 'embed'
  | 'i'
  | 'iframe'
  | 'img'
  | 'input'
  | 'kbd'
  | 'area'
  | 'object'
  | 'optgroup'
  | 'option'
  | 'picture'
  | 'q'
  | 'rp'
  | 'rt'
  | 's'
  | 'samp'
  | 'select'
  | 'source'
  | 'span'
  | 'strike'
  | 'strong'
  | 'svg'
  | 'math'
  | 'textarea'
  | 'tt'
  | 'video'
  | 'audio'
  | 'frame'
  | 'frameset'
  | 'image'
  | 'label'
  | 'plaintext'
  | 'menu'
  | 'dir'
  | 'sup'
  | 'sub'
  | 'address'
  | 'summary'
  | 'details'
  | 'dialog'
  | 'listing'
  | 'xmp'
  | 'font'
  | 'nobr'
  | 'rtc'
  | 'time'
>(
  'html head body title meta link base script style noscript template article aside blockquote div dl dt dd figcaption ' +
    'figure footer form header hr main nav ol ul li p pre section h1 h2 h3 h4 h5 h6 table caption colgroup col thead ' +
    'tbody tfoot tr td th a b br button canvas code del em embed i iframe img input kbd area object optgroup option ' +
    'picture q rp rt s samp select source span strike strong svg math textarea tt video audio frame frameset image ' +
    'label plaintext menu dir sup sub address summary details dialog listing xmp font nobr rtc time',
);

/** Properties of a tag for the parser and the writers. */
export const F = {
  /** Never has content. */
  void: 1,
  /** Content is text up to the end tag. */
  raw: 2,
  /** Its start tag ends an open paragraph. */
  closesP: 4,
  /** "Special" of the HTML standard: end tags of inline elements do not reach past it. */
  special: 8,
  /** Formatting element: its end tag may come before those of blocks inside it. */
  formatting: 16,
  /** May stand in the head. */
  head: 32,
  heading: 64,
  /** Boundary for end tags and implied ends: cells, tables, buttons, objects. */
  scope: 128,
  /** Text directly inside is layout white space. */
  noText: 256,
  /** Never shown as content. */
  invisible: 512,
  /** Starts and ends a line of its own when shown. */
  block: 1024,
  /** Part of a table: its start tag means nothing outside one. */
  tablePart: 2048,
  /** Table structure that holds no content itself: what stands there belongs in front of the table. */
  fosters: 4096,
  /** Formatting that a block has closed does not start again for it. */
  apart: 8192,
  /** Formatting opened inside ends with it for good. */
  marker: 16384,
  /** Raw text that has no character references either. */
  verbatim: 32768,
  /** Ends a drawing or formula that it stands in. */
  breakout: 65536,
  /** The parser has rules for its start tag beyond those that the other flags stand for. */
  ruled: 131072,
} as const;

const FLAGS = new Uint32Array(FIRST_CUSTOM_TAG);
const flag = (bit: number, list: string): void => {
  for (const name of list.split(' ')) FLAGS[tagOf(name)]! |= bit;
};
const CLOSES_P =
  'address article aside blockquote center details dialog dir div dl dt dd fieldset figcaption figure footer form header ' +
  'hgroup hr main menu nav ol ul li p pre listing plaintext xmp search section summary h1 h2 h3 h4 h5 h6 table';
flag(F.void, 'area base br col embed frame hr img input keygen link meta param source track wbr');
flag(F.raw, 'script style xmp iframe noembed noframes plaintext title textarea');
flag(F.closesP, CLOSES_P);
flag(
  F.special,
  `${CLOSES_P} html head body base link meta title script style noscript template applet button caption colgroup col`,
);
flag(F.special, 'thead tbody tfoot tr td th marquee object select textarea iframe frameset frame img br input area');
flag(F.formatting, 'a b big code em font i nobr s small strike strong tt u');
flag(F.head, 'title meta link base script style noscript template');
flag(F.heading, 'h1 h2 h3 h4 h5 h6');
flag(F.scope, 'html table caption td th marquee object applet template button svg math');
flag(F.noText, 'head table thead tbody tfoot tr colgroup ul ol dl select optgroup frameset picture');
flag(
  F.invisible,
  'head title meta link base script style noscript template noembed noframes datalist param source track',
);
flag(F.invisible, 'col colgroup area rp');
flag(
  F.block,
  `${CLOSES_P} body html caption thead tbody tfoot tr td th legend option optgroup iframe video audio object canvas`,
);
flag(F.tablePart, 'caption colgroup col thead tbody tfoot tr td th');
flag(F.fosters, 'table thead tbody tfoot tr');
flag(
  F.apart,
  `${CLOSES_P} html head body title meta link base script style noscript template caption colgroup col thead tbody tfoot`,
);
flag(F.apart, 'tr td th iframe textarea noembed noframes rb rp rt rtc param source track frame frameset');
flag(F.marker, 'td th caption marquee object applet template');
flag(F.verbatim, 'script style xmp iframe noembed noframes plaintext');
flag(
  F.breakout,
  'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta',
);
flag(F.breakout, 'nobr ol p pre ruby s small span strong strike sub sup table tt u ul var');
flag(
  F.ruled,
  'html head body form select table caption colgroup col thead tbody tfoot tr td th li dt dd option optgroup rt rp button',
);
flag(F.ruled, 'input nobr svg math');

export function flagsOf(tag: number): number {
  return tag < FIRST_CUSTOM_TAG ? FLAGS[tag]! : 0;
}

/** Hashes of the attribute names that passes ask for. */
export const A = {
  href: hashName('href'),
  src: hashName('src'),
  srcset: hashName('srcset'),
  dataSrc: hashName('data-src'),
  dataOriginal: hashName('data-original'),
  dataLazySrc: hashName('data-lazy-src'),
  dataSrcset: hashName('data-srcset'),
  dataLazy: hashName('data-lazy'),
  dataLazySrcset: hashName('data-lazy-srcset'),
  poster: hashName('poster'),
  class: hashName('class'),
  id: hashName('id'),
  rel: hashName('rel'),
  content: hashName('content'),
  name: hashName('name'),
  property: hashName('property'),
  itemprop: hashName('itemprop'),
  httpEquiv: hashName('http-equiv'),
  lang: hashName('lang'),
  alt: hashName('alt'),
  title: hashName('title'),
  role: hashName('role'),
  hidden: hashName('hidden'),
  style: hashName('style'),
  ariaHidden: hashName('aria-hidden'),
  align: hashName('align'),
  colspan: hashName('colspan'),
  rowspan: hashName('rowspan'),
  start: hashName('start'),
  width: hashName('width'),
  height: hashName('height'),
  dataLang: hashName('data-lang'),
  dataLanguage: hashName('data-language'),
  type: hashName('type'),
  value: hashName('value'),
  checked: hashName('checked'),
  display: hashName('display'),
  alttext: hashName('alttext'),
  encoding: hashName('encoding'),
  dataLineNumber: hashName('data-line-number'),
} as const;
