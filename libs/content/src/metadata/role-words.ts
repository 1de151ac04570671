/** What the words in class and id attributes say about who and when. */
import { hashName } from '../tags.js';

export const AUTHOR = 1;
export const DATE = 2;
/** Of a change, not of the publication. */
export const MODIFIED = 4;
/** Around other texts than the page's own: comments, teasers, sidebars. */
export const ASIDE = 8;

/** About a person: more than the name. */
export const ABOUT = 16;

/** Together they are an author: `user-name`, `member__name`. */
const USER = 32;
const NAME = 64;

const WORDS: readonly (readonly [number, string])[] = [
  [
    AUTHOR,
    'author authors authorname author_name byline bylines writer autor autore auteur auteurs autoren redakteur verfasser ' +
      'forfatter skribent contributors journalist reporter username postauthor entryauthor articleauthor ' +
      'articlebyline vcard byauthor creator poster',
  ],
  [
    DATE,
    'date dates datum datetime dateline datepublished published publish publishdate pubdate publication timestamp ' +
      'time posted postdate postedon entrydate articledate fecha datepost dateposted pubtime publishtime veroeffentlicht',
  ],
  [USER, 'user member person contributor'],
  [NAME, 'name nickname fullname displayname'],
  [ABOUT, 'description bio biography avatar about'],
  [MODIFIED, 'updated modified lastmod lastupdated lastmodified update aktualisiert'],
  [
    ASIDE,
    'comment comments commentlist commentary kommentar kommentare respond reply replies related sidebar widget widgets footer ' +
      'recommended recommendations recommend teaser teasers trending popular latest navigation nav menu breadcrumb breadcrumbs ' +
      'newsletter promo carousel slider recirc mostread quote ' +
      'caption credit credits photographer copyright',
  ],
];

const TABLE_SIZE = 512;
const HASHES = new Int32Array(TABLE_SIZE);
const KINDS = new Uint8Array(TABLE_SIZE);
for (const [kind, words] of WORDS) for (const word of words.split(' ')) put(hashName(word), kind);

function put(hash: number, kind: number): void {
  let slot = hash & (TABLE_SIZE - 1);
  while (KINDS[slot] !== 0) slot = (slot + 1) & (TABLE_SIZE - 1);
  HASHES[slot] = hash;
  KINDS[slot] = kind;
}

function kindOf(hash: number): number {
  let slot = hash & (TABLE_SIZE - 1);
  while (KINDS[slot] !== 0) {
    if (HASHES[slot] === hash) return KINDS[slot]!;
    slot = (slot + 1) & (TABLE_SIZE - 1);
  }
  return 0;
}

const MAX_CHARS = 300;

/**
 * Kinds of all words in a range: bits of `AUTHOR`, `DATE`, `MODIFIED`, `ASIDE`, `ABOUT`. Words end at anything but a letter,
 * and before a capital that follows a small letter.
 */
export function rolesIn(source: string, from: number, to: number): number {
  const last = Math.min(to, from + MAX_CHARS);
  let kinds = 0;
  let hash = 0;
  let length = 0;
  let wasSmall = false;
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
  return (kinds & (USER | NAME)) === (USER | NAME) ? kinds | AUTHOR : kinds;
}
