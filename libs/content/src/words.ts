/** What the words in class, id and role attributes say about an element. */
import { A, hashName } from './tags.js';
import type { Tree } from './tree.js';

/** Around the content: navigation, sharing, advertising, consent. */
export const CHROME = 1;
/** The content or a part of it. */
export const CONTENT = 2;

const CHROME_WORDS =
  'nav navbar navigation menu submenu megamenu breadcrumb breadcrumbs footer sidebar cookie cookies consent gdpr share sharing ' +
  'sharebar addtoany addthis social socials newsletter subscribe subscription related recommended recommendations recommend promo ' +
  'promotion advert advertisement advertising ads ad adsense sponsor sponsored popup modal overlay masthead pagination pager ' +
  'toolbar skip sitemap topbar login signin signup outbrain taboola disqus backtotop copyright colophon hatnote noprint ' +
  'printfriendly editsection contentinfo complementary search searchform searchbox dialog alertdialog menubar tablist';
const CONTENT_WORDS =
  'article content main post entry story body text markdown prose documentation readme answer question';

const TABLE_SIZE = 1024;
const HASHES = new Int32Array(TABLE_SIZE);
const KINDS = new Uint8Array(TABLE_SIZE);

function put(words: string, kind: number): void {
  for (const word of words.split(' ')) {
    const hash = hashName(word);
    let slot = hash & (TABLE_SIZE - 1);
    while (KINDS[slot] !== 0) slot = (slot + 1) & (TABLE_SIZE - 1);
    HASHES[slot] = hash;
    KINDS[slot] = kind;
  }
}
put(CHROME_WORDS, CHROME);
put(CONTENT_WORDS, CONTENT);

function kindOf(hash: number): number {
  let slot = hash & (TABLE_SIZE - 1);
  while (KINDS[slot] !== 0) {
    if (HASHES[slot] === hash) return KINDS[slot]!;
    slot = (slot + 1) & (TABLE_SIZE - 1);
  }
  return 0;
}

const MAX_CHARS = 512;

/** Kinds of all words in a range; words end at anything but a letter, and before a capital that follows a small letter. */
function kindsIn(source: string, from: number, to: number): number {
  let kinds = 0;
  let hash = 0;
  let length = 0;
  let wasSmall = false;
  const last = Math.min(to, from + MAX_CHARS);
  for (let i = from; i <= last; i++) {
    const c = i < last ? source.charCodeAt(i) : 0;
    const isSmall = c >= 97 && c <= 122;
    const isCapital = c >= 65 && c <= 90;
    if (length > 0 && ((!isSmall && !isCapital) || (isCapital && wasSmall))) {
      kinds |= kindOf(hash);
      length = 0;
    }
    if (isSmall || isCapital) {
      if (length++ === 0) hash = 0x811c9dc5 | 0;
      hash = Math.imul(hash ^ (c | 0x20), 0x01000193);
    }
    wasSmall = isSmall;
  }
  return kinds;
}

/** `CHROME`, `CONTENT`, both or 0. */
export function kindsOfElement(tree: Tree, node: number): number {
  let kinds = 0;
  for (let i = tree.from[node]!, to = tree.to[node]!; i < to; i++) {
    const hash = tree.attrHash[i];
    if (hash !== A.class && hash !== A.id && hash !== A.role) continue;
    kinds |= kindsIn(tree.source, tree.attrFrom[i]!, tree.attrTo[i]!);
  }
  return kinds;
}
