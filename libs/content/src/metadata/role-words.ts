/** Words in class and id attributes that tell of authors and dates. */
import { WordKinds } from '@troupe/main-content';

export const AUTHOR = 1;
export const DATE = 2;
/** Marks the date of a change, not of the publication. */
export const MODIFIED = 4;
/** Around other texts than the page's own: comments, teasers, sidebars. */
export const ASIDE = 8;

/** About a person: more than the name. */
export const ABOUT = 16;

/** Together they are an author: `user-name`, `member__name`. */
const USER = 32;
const NAME = 64;

const MAX_CHARS = 300;
const ROLES = new WordKinds(
  [
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
  ],
  MAX_CHARS,
);

/** Kinds of all words in a range: bits of `AUTHOR`, `DATE`, `MODIFIED`, `ASIDE`, `ABOUT`; see `WordKinds`. */
export function rolesIn(source: string, from: number, to: number): number {
  const roles = ROLES.in(source, from, to);
  return (roles & (USER | NAME)) === (USER | NAME) ? roles | AUTHOR : roles;
}
