/** Signs of title, authors and days in the body of a page: one pass, nothing decided. */
import { A, F, FIRST_CUSTOM_TAG, flagsOf, hashName, T, tagOf, TEXT, type Tree } from '@troupe/html';
import { ABOUT, ASIDE, AUTHOR, DATE, MODIFIED, rolesIn } from './role-words.js';
import { collapsed } from './white-space.js';

export interface Heading {
  readonly node: number;
  /** 1 to 6. */
  readonly level: number;
  readonly text: string;
  readonly isAside: boolean;
}

/** How an element says that it names a person or a day. */
export type SignKind = 'itemprop' | 'rel' | 'time' | 'class';

export interface Sign {
  readonly node: number;
  readonly kind: SignKind;
  /** Machine-readable value when there is one, else the text. */
  readonly text: string;
  /** In comments, teasers, sidebars and the like. */
  readonly isAside: boolean;
}

export interface PersonSign extends Sign {
  /** Texts of the links inside. */
  readonly links: readonly string[];
}

export interface DaySign extends Sign {
  readonly isModified: boolean;
  /** Marked as the day of publication, not just as a day. */
  readonly isPublished: boolean;
}

export interface Signs {
  readonly headings: readonly Heading[];
  readonly people: readonly PersonSign[];
  readonly days: readonly DaySign[];
  /** Texts of `itemprop=headline` and `itemprop=name` of an article. */
  readonly headlines: readonly string[];
}

const MAX_SIGNS = 60;
const MAX_HEADINGS = 40;
const MAX_PERSON_CHARS = 160;
const MAX_DAY_CHARS = 120;
const MAX_HEADING_CHARS = 400;
const MAX_ITEMPROP_CHARS = 1000;
const ENDS_IN_WORD = /[\p{L}\p{N}]$/u;
const BEGINS_WITH_WORD = /^[\p{L}\p{N}]/u;
/** Sign of a link to the heading itself. */
const ANCHOR_MARK = /\s{0,3}[¶§#🔗]$/u;
const MAY_BE_ANCHOR_MARK = /[#\x80-\uffff]$/;
const WHITE_SPACE = /\s+/g;
const LAST_ASCII = 127;
/** Attributes that may be signs, by the low bits of their hashes: most others are known not to be. */
const MAY_SAY = new Uint8Array(256);
/** Constants of the module, not properties: compared with every attribute of the page. */
const { class: CLASS, id: ID, itemprop: ITEMPROP, property: PROPERTY, rel: REL, hidden: HIDDEN, style: STYLE } = A;
const DATETIME = hashName('datetime');
const ITEMTYPE = hashName('itemtype');
for (const hash of [CLASS, ID, ITEMPROP, PROPERTY, REL, HIDDEN, STYLE, ITEMTYPE]) MAY_SAY[hash & 255] = 1;
const PUBDATE = hashName('pubdate');
const TIME = tagOf('time');
const STRONG = tagOf('strong');
const ASIDE_TYPE =
  /\/(?:comment|usercomments|review|product|offer|breadcrumblist|aggregaterating|wpsidebar|wpfooter)$/i;
const MAX_STYLE_CHARS = 500;
const MAX_NAME_CHARS = 200;
const MAX_PORTRAIT_NODES = 40;
const HIDDEN_STYLE = /display\s{0,4}:\s{0,4}none/i;
const FRONT_PAGE = /^(?:https?:\/\/[^/]{1,300})?\/?(?:index\.\w{2,5})?$/i;
const PUBLISHED_WORDS = /publi|pubdate|pub-date|entry-date|posted|post-date|date-post|article-date|veröff|veroeff/i;

export function readSigns(tree: Tree): Signs {
  return new SignReader(tree).read();
}

class SignReader implements Signs {
  readonly headings: Heading[] = [];
  readonly people: PersonSign[] = [];
  readonly days: DaySign[] = [];
  readonly headlines: string[] = [];
  private asideUntil = 0;

  constructor(private readonly tree: Tree) {}

  read(): Signs {
    const { tag: tags, end, count } = this.tree;
    for (let node = 1; node < count;) {
      const tag = tags[node]!;
      if (tag === TEXT) {
        node++;
        continue;
      }
      if (tag === T.svg || tag === T.template) {
        node = end[node]!;
        continue;
      }
      if (tag !== T.meta && tag !== T.body && tag !== T.html) this.readElement(node, tag);
      node++;
    }
    return this;
  }

  /** One look at each attribute. */
  // eslint-disable-next-line complexity -- one pass over the attributes
  private readElement(node: number, tag: number): void {
    const { tree } = this;
    const { source, attrHash, attrFrom, attrTo } = tree;
    let roles = 0;
    let isAside = tag === T.nav || tag === T.aside || tag === T.footer || tag === T.form || tag === T.figure;
    let property = -1;
    let isAuthorLink = false;
    for (let i = tree.from[node]!, to = tree.to[node]!; i < to; i++) {
      const hash = attrHash[i]!;
      if (MAY_SAY[hash & 255] === 0) continue;
      switch (hash) {
        case CLASS:
        case ID:
          roles |= rolesIn(source, attrFrom[i]!, attrTo[i]!);
          break;
        case ITEMPROP:
        case PROPERTY:
          property = i;
          break;
        case REL:
          isAuthorLink = tag === T.a && hasWord(tree.attrValue(i), 'author');
          break;
        case HIDDEN:
          isAside = true;
          break;
        case STYLE:
          isAside ||= HIDDEN_STYLE.test(tree.attrValue(i).slice(0, MAX_STYLE_CHARS));
          break;
        case ITEMTYPE:
          isAside ||= ASIDE_TYPE.test(tree.attrValue(i).slice(0, MAX_NAME_CHARS));
      }
    }
    if ((isAside || (roles & ASIDE) !== 0) && node >= this.asideUntil) this.asideUntil = tree.end[node]!;
    if (flagsOf(tag) & F.heading) this.readHeading(node);
    if (tag === TIME) this.readTime(node, roles);
    else if (roles & (DATE | MODIFIED)) this.readDateClass(node, roles);
    if (property >= 0) this.readProperty(node, tree.attrValue(property).slice(0, MAX_NAME_CHARS).toLowerCase());
    if (isAuthorLink) this.addPerson(node, 'rel');
    if ((roles & (AUTHOR | ABOUT)) === AUTHOR || this.isByline(tag)) this.addPerson(node, 'class');
    else if ((roles & (AUTHOR | ABOUT)) === (AUTHOR | ABOUT)) this.addPortrait(node);
  }

  private isByline(tag: number): boolean {
    const name = tag < FIRST_CUSTOM_TAG ? '' : this.tree.customTags[tag - FIRST_CUSTOM_TAG];
    return name === 'byline' || name === 'author';
  }

  private readHeading(node: number): void {
    if (this.headings.length >= MAX_HEADINGS) return;
    const whole = this.shortText(node, MAX_HEADING_CHARS) ?? '';
    const text = MAY_BE_ANCHOR_MARK.test(whole) ? whole.replace(ANCHOR_MARK, '') : whole;
    if (text === '') return;
    const isAside = node < this.asideUntil || this.linksHome(node);
    this.headings.push({ node, level: Number(this.tree.name(node)[1]), text, isAside });
  }

  /** A heading around a link to the front page, or inside one, is the site's logo. */
  private linksHome(node: number): boolean {
    const { tree } = this;
    let link = tree.tag[tree.parent[node]!] === T.a ? tree.parent[node]! : -1;
    for (let i = node + 1, to = Math.min(tree.end[node]!, node + 4); i < to && link < 0; i++)
      if (tree.tag[i] === T.a) link = i;
    return link >= 0 && FRONT_PAGE.test(tree.attr(link, A.href)?.trim() ?? '-');
  }

  private readTime(node: number, roles: number): void {
    if (this.days.length >= MAX_SIGNS) return;
    const { tree } = this;
    const text = tree.attr(node, DATETIME)?.trim() || this.shortText(node, MAX_DAY_CHARS);
    if (text === null || text === '') return;
    const isMarked = tree.attrIndex(node, PUBDATE) >= 0 || PUBLISHED_WORDS.test(tree.attr(node, A.class) ?? '');
    this.addDay({ node, kind: 'time', text, isModified: (roles & MODIFIED) !== 0 && !isMarked, isPublished: isMarked });
  }

  private readDateClass(node: number, roles: number): void {
    if (this.days.length >= MAX_SIGNS) return;
    const text = this.shortText(node, MAX_DAY_CHARS);
    if (text === null || text.length < 6) return;
    const isPublished = PUBLISHED_WORDS.test(this.tree.attr(node, A.class) ?? '');
    this.addDay({ node, kind: 'class', text, isModified: (roles & MODIFIED) !== 0 && !isPublished, isPublished });
  }

  private readProperty(node: number, names: string): void {
    for (const name of names.split(WHITE_SPACE)) {
      switch (name.replace(/^(?:schema|rnews|dc|dcterms|sioc):/, '')) {
        case 'author':
        case 'creator':
          this.addPerson(node, 'itemprop');
          break;
        case 'datepublished':
        case 'datecreated':
        case 'pubdate':
          this.addItempropDay(node, false);
          break;
        case 'datemodified':
          this.addItempropDay(node, true);
          break;
        case 'headline':
          this.addHeadline(node);
      }
    }
  }

  private addHeadline(node: number): void {
    const text = this.valueOf(node, MAX_HEADING_CHARS);
    if (text !== null && text !== '' && node >= this.asideUntil && this.headlines.length < 5) this.headlines.push(text);
  }

  private addItempropDay(node: number, isModified: boolean): void {
    const text = this.tree.attr(node, DATETIME)?.trim() || this.valueOf(node, MAX_DAY_CHARS);
    if (text) this.addDay({ node, kind: 'itemprop', text, isModified, isPublished: !isModified });
  }

  private addDay({ node, kind, text, isModified, isPublished }: Omit<DaySign, 'isAside'>): void {
    if (this.days.length < MAX_SIGNS)
      this.days.push({ node, kind, text, isModified, isPublished, isAside: node < this.asideUntil });
  }

  private addPerson(node: number, kind: SignKind): void {
    if (this.people.length >= MAX_SIGNS) return;
    const inner = kind === 'itemprop' ? this.innerName(node) : null;
    const text = inner ?? this.valueOf(node, MAX_PERSON_CHARS);
    if (text === null || text === '') return;
    const links = inner === null ? this.linksIn(node) : [];
    this.people.push({ node, kind, text, links, isAside: node < this.asideUntil });
  }

  /** A box about the author begins with the name: its first heading, link or strong text. */
  private addPortrait(node: number): void {
    if (this.people.length >= MAX_SIGNS) return;
    const { tree } = this;
    for (let i = node + 1, to = Math.min(tree.end[node]!, node + MAX_PORTRAIT_NODES); i < to; i++) {
      const tag = tree.tag[i]!;
      if (tag !== T.a && tag !== STRONG && tag !== T.b && (flagsOf(tag) & F.heading) === 0) continue;
      const text = this.shortText(i, MAX_NAME_CHARS);
      if (text === null || text === '') continue;
      this.people.push({ node: i, kind: 'class', text, links: [], isAside: true });
      return;
    }
  }

  /** `itemprop=name` inside a person's element. */
  private innerName(node: number): string | null {
    const { tree } = this;
    for (let i = node + 1, to = Math.min(tree.end[node]!, node + 60); i < to; i++) {
      if (tree.tag[i] !== TEXT && tree.attr(i, A.itemprop)?.trim() === 'name') return this.valueOf(i, MAX_PERSON_CHARS);
    }
    return null;
  }

  private linksIn(node: number): string[] {
    const { tree } = this;
    const texts: string[] = [];
    for (let i = node + 1, to = tree.end[node]!; i < to && texts.length < 8; i++) {
      const text = tree.tag[i] === T.a ? this.shortText(i, MAX_PERSON_CHARS) : null;
      if (text !== null && text !== '') texts.push(text);
    }
    return texts;
  }

  private valueOf(node: number, maxChars: number): string | null {
    const content = this.tree.attr(node, A.content);
    if (content !== null && content.trim() !== '') {
      return collapsed(content.slice(0, MAX_ITEMPROP_CHARS));
    }
    return this.shortText(node, maxChars);
  }

  private shortText(node: number, maxChars: number): string | null {
    return shortText(this.tree, node, maxChars);
  }
}

/**
 * Text of an element, white space collapsed, a space between the words of two elements unless one only formats the other; null when it is longer than
 * `maxChars`. Costs no more than a multiple of `maxChars`.
 */
function shortText(tree: Tree, node: number, maxChars: number): string | null {
  let text = '';
  let budget = maxChars * 4;
  let before = -1;
  for (let i = node, to = tree.end[node]!; i < to;) {
    if (--budget < 0) return null;
    if (flagsOf(tree.tag[i]!) & F.invisible || tree.tag[i] === T.svg) {
      i = tree.end[i]!;
      continue;
    }
    if (tree.tag[i] === TEXT) {
      if (tree.to[i]! - tree.from[i]! > maxChars * 4) return null;
      const parent = tree.parent[i]!;
      const piece = tree.text(i);
      const isGlued = before < 0 || parent === before || isGlue(tree, parent, before) || isGlue(tree, before, parent);
      text += isGlued || !endsInWord(text) || !beginsWithWord(piece) ? piece : ` ${piece}`;
      before = parent;
    } else if (tree.tag[i] === T.br) text += ' ';
    i++;
  }
  text = collapsed(text);
  return text.length > maxChars ? null : text;
}

function endsInWord(text: string): boolean {
  const c = text.charCodeAt(text.length - 1);
  return c > LAST_ASCII ? ENDS_IN_WORD.test(text.slice(-2)) : isAsciiWord(c);
}

function beginsWithWord(text: string): boolean {
  const c = text.charCodeAt(0);
  return c > LAST_ASCII ? BEGINS_WITH_WORD.test(text.slice(0, 2)) : isAsciiWord(c);
}

function isAsciiWord(c: number): boolean {
  return (c >= 48 && c <= 57) || ((c | 32) >= 97 && (c | 32) <= 122);
}

/** Whether an element only formats a part of the other. */
function isGlue(tree: Tree, node: number, other: number): boolean {
  const tag = tree.tag[node]!;
  return (
    tree.parent[node] === other &&
    tag !== T.a &&
    ((flagsOf(tag) & F.formatting) !== 0 || tag === T.sup || tag === T.sub)
  );
}

export function hasWord(list: string, word: string): boolean {
  return list.length < 500 && list.toLowerCase().split(WHITE_SPACE).includes(word);
}
