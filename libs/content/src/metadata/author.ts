/** Authors of the page's text: votes of JSON-LD, metas, microdata, classes and bylines. */
import { findDay } from './date-text.js';
import { isObject, ldText, listOf, type LdGraph, type LdItem, type LdObject } from './json-ld.js';
import type { PersonSign } from './signs.js';
import type { Bylines } from './title-surroundings.js';
import { collapsed } from './white-space.js';
import { wordsOf } from './words-of.js';

export interface AuthorEvidence {
  readonly graph: LdGraph;
  readonly articles: readonly LdItem[];
  readonly metas: ReadonlyMap<string, readonly string[]>;
  readonly people: readonly PersonSign[];
  /** Texts of bylines near the title. */
  readonly bylines: readonly string[];
  /** Bylines of the whole page, asked for when nothing better is known. */
  readonly anywhere: () => Bylines;
  /** Node of the title's heading, -1 when there is none. */
  readonly heading: number;
  readonly siteNames: readonly string[];
}

const MAX_AUTHORS = 8;
/** Votes below it are looked upon as guesses. */
const WEAK_WEIGHT = 4;

/** Weight of a vote for no person, beside one for a person: an unnamed team, the site itself, a declared account. */
const TEAM_TRUST = 0.2;
const SITE_TRUST = 0.3;
const ACCOUNT_TRUST = 0.75;
/** Sources that content systems fill, often with the account that entered the text. */
const DECLARED: ReadonlySet<string> = new Set(['ld', 'meta', 'author']);

interface Vote {
  readonly names: readonly string[];
  /** Words of all names. */
  readonly key: string;
  readonly words: ReadonlySet<string>;
  readonly source: string;
  readonly weight: number;
}

const META_WEIGHTS: readonly (readonly [string, number])[] = [
  ['citation_author', 9],
  ['parsely-author', 8],
  ['sailthru.author', 8],
  ['byl', 8],
  ['article:author_name', 8],
  ['article:author', 6],
  ['og:article:author', 6],
  ['author', 6.5],
  ['authors', 6.5],
  ['dc.creator', 6],
  ['dc.contributor', 3],
  ['dcterms.creator', 6],
  ['dcsext.author', 6],
  ['rbauthors', 6],
  ['creator', 4],
  ['article.author', 6],
  ['shareaholic:article_author_name', 7],
  ['cxenseparse:author', 6],
  ['vr:author', 6],
  ['blog_author', 6],
  ['content_author', 6],
];
/** Metas of which the first names what the second holds. */
const LABELLED = [
  ['twitter:label1', 'twitter:data1'],
  ['twitter:label2', 'twitter:data2'],
] as const;
const LABEL_OF_AUTHOR =
  /^(?:written by|author|by|verfasst von|geschrieben von|autor|écrit par|escrito por|scritto da|geschreven door|skrevet av|skriven av|napisane przez|yazan|написано|автор)/i;

export function chooseAuthor(evidence: AuthorEvidence): string | null {
  const votes = votesOf(evidence);
  if (votes.length === 0) return null;
  const agreements = new Map<string, number>();
  let best: Vote | null = null;
  let bestScore = 0;
  for (const vote of votes) {
    let agreed = agreements.get(vote.key);
    if (agreed === undefined) agreements.set(vote.key, (agreed = agreementWith(vote.words, votes)));
    const score = vote.weight + agreed;
    if (score <= bestScore) continue;
    best = vote;
    bestScore = score;
  }
  return best === null ? null : fuller(best, votes).join(', ');
}

/** A first name alone gives way to the full name, and one name to a byline that has it and others, when another source has them. */
function fuller(best: Vote, votes: readonly Vote[]): readonly string[] {
  const { names } = best;
  const isFirstName = names.length === 1 && !names[0]!.includes(' ');
  const full = votes.find((vote) => {
    if (isFirstName)
      return vote.names.length === 1 && FULL_NAME.test(vote.names[0]!) && vote.names[0]!.startsWith(`${names[0]!} `);
    const isLonger = vote.names.length > names.length && vote.names.length <= MAX_AUTHORS && vote.weight >= WEAK_WEIGHT;
    return (
      isLonger && names.every((name) => vote.names.includes(name)) && vote.names.every((name) => PERSON.test(name))
    );
  });
  return full?.names ?? names;
}

function votesOf(evidence: AuthorEvidence): Vote[] {
  const votes: Vote[] = [];
  const reader = new NameReader();
  const sites = new Set(evidence.siteNames.map(wordsOf));
  const add = (texts: readonly string[], source: string, weight: number): void => {
    if (texts.length === 0) return;
    const people = distinct(texts.flatMap((text) => reader.namesIn(text)));
    const names = people.length > 0 ? people : teamIn(texts);
    if (names.length === 0) return;
    const isSite = names.every((name) => sites.has(wordsOf(name)) || ORGANISATION.test(name));
    const trust =
      people.length === 0
        ? TEAM_TRUST
        : isSite
          ? SITE_TRUST
          : DECLARED.has(source) && isAccount(names)
            ? ACCOUNT_TRUST
            : 1;
    const key = wordsOf(names.join(' '));
    votes.push({ names, key, words: new Set(key.split(' ')), source, weight: weight * trust });
  };
  for (const { object } of evidence.articles) {
    add(ldNames(object['author'] ?? object['creator'], evidence.graph), 'ld', 10);
  }
  for (const [name, weight] of META_WEIGHTS) {
    const texts = evidence.metas.get(name);
    if (texts !== undefined) add(texts, name === 'author' ? 'author' : 'meta', weight);
  }
  addLabelled(evidence, add);
  addSigns(evidence, add, reader);
  for (const line of evidence.bylines) if (reader.seesPeople(line)) add([line], 'byline', 5);
  if (votes.every(({ weight }) => weight < WEAK_WEIGHT)) addAnywhere(evidence.anywhere(), add, reader);
  return votes;
}

function teamIn(texts: readonly string[]): string[] {
  const names = texts.map((text) =>
    text
      .trim()
      .replace(PREFIX, '')
      .replace(/[\s,;.]{1,5}$/, ''),
  );
  return names.filter((name) => TEAM.test(name)).slice(0, 1);
}

/** One word is the name of an account, or a first name. */
function isAccount(names: readonly string[]): boolean {
  return names.length === 1 && !names[0]!.includes(' ');
}

function addAnywhere({ labelled, whole }: Bylines, add: Add, reader: NameReader): void {
  for (const line of labelled) if (reader.seesPeople(line)) add([line], 'byline', 3);
  if (new Set(whole).size === 1 && reader.seesPeople(whole[0]!)) add([whole[0]!], 'byline', 2.5);
}

type Add = (texts: readonly string[], source: string, weight: number) => void;

function addLabelled({ metas }: AuthorEvidence, add: Add): void {
  for (const [label, data] of LABELLED) {
    const [text] = metas.get(label) ?? [];
    if (text !== undefined && LABEL_OF_AUTHOR.test(text.trim().slice(0, 50)))
      add(metas.get(data)?.slice(0, 1) ?? [], 'label', 8);
  }
}

const MAX_SIGNS_OF_A_KIND = 8;
const SIGN_WEIGHTS: Readonly<Record<PersonSign['kind'], number>> = { itemprop: 7, rel: 6, class: 4.5, time: 0 };

/** The first sign of a kind counts most; those in comments and teasers hardly. */
function addSigns({ people, heading }: AuthorEvidence, add: Add, reader: NameReader): void {
  const counts = new Map<string, number>();
  for (const sign of people) {
    const weight = SIGN_WEIGHTS[sign.kind] * (sign.isAside ? 0.35 : 1);
    const before = counts.get(sign.kind) ?? 0;
    if (before >= MAX_SIGNS_OF_A_KIND) continue;
    const isNear = heading >= 0 && Math.abs(sign.node - heading) < 80;
    const texts = sign.links.length > 0 && reader.namesIn(sign.links.join(', ')).length > 0 ? sign.links : [sign.text];
    counts.set(sign.kind, before + 1);
    add(texts, sign.kind, (weight * (isNear ? 1.3 : 1)) / (1 + before * 0.15));
  }
}

/** Sum of the sources that speak for a person, each once. */
function agreementWith(words: ReadonlySet<string>, votes: readonly Vote[]): number {
  const bySource = new Map<string, number>();
  for (const other of votes) {
    const value = other.weight * similarity(words, other.words);
    if (value > (bySource.get(other.source) ?? 0)) bySource.set(other.source, value);
  }
  let sum = 0;
  for (const value of bySource.values()) sum += value;
  return sum;
}

/** 1 for the same words, 0.6 when one holds the other, else 0. */
function similarity(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0;
  for (const word of a) if (b.has(word)) common++;
  if (common === a.size && common === b.size) return 1;
  return common === Math.min(a.size, b.size) ? 0.6 : 0;
}

// ---- JSON-LD

function ldNames(value: unknown, graph: LdGraph): string[] {
  return listOf(value)
    .slice(0, 20)
    .flatMap((author) => {
      if (!isObject(author)) return [ldText(author)];
      const named = author['name'] === undefined ? referenced(author, graph) : author;
      return listOf(named['name']).slice(0, MAX_AUTHORS).map(ldText);
    });
}

function referenced(object: LdObject, graph: LdGraph): LdObject {
  const id = object['@id'];
  return (typeof id === 'string' ? graph.byId.get(id) : undefined) ?? object;
}

// ---- names in a text

const PREFIX =
  /^(?:(?:written|posted|published|reviewed|created|submitted|article|story|words|text|texte|testo|texto|reported|photos?|started|asked|skrevet|geschrieben|verfasst|veröffentlicht|publié|écrit|escrito|publicado|scritto|pubblicato|geschreven|napisane|text und|guest post|a post|post|blog|review|recipe)\s{1,3})?(?:by|von|vom|par|por|di|da|door|av|af|przez|autor(?:in|en|a|es)?|auth?ors?|auteurs?|autore|text|texte|words|foto|interview|von:|redaktion:|автор|yazar|yazan|napsal|作者|文|著者|著|撰文|記者|筆者|tekst|byline|editor|by:)(?:\s{0,3}[:：]\s{0,3}|\s{1,3}(?=\S))/iu;
const CUT =
  /\s{0,3}(?:[|•·●–—]|\s-\s|\(|\[|\bon\s(?=\w+\s\d|\d)|\bam\s(?=\d)|\ble\s(?=\d)|\bat\s(?=\d)|\bupdated\b|\bpublished\b|\blast\s(?:updated|modified)\b|\bposted\b|\bveröffentlicht\b|\s(?:in|at|for|using)\s(?=\p{Lu}))/iu;
const JOINT = /\s{0,3}(?:[,;/&\n]|\s(?:and|und|et|y|e|en|og|och|i|ve|и)\s)\s{0,3}/iu;
const EMAIL = /\S{1,80}@\S{1,80}\.\S{2,20}/g;
const URL = /^(?:https?:|www\.|\/)|\.(?:html?|php)\b/i;
const ROLE =
  /^(?:(?:senior|junior|staff|chief|deputy|associate|assistant|managing|executive|contributing|guest|freelance|national|science|health|political|sports?|tech|technology|business|news|web|digital|content|marketing|investigative|global|lead|co-)\s?)*(?:editors?|writer|reporter|correspondent|journalist|columnist|contributor|author|autor|autorin|redakteur(?:in)?|redaktion|producer|manager|director|strategist|specialist|analyst|founder|ceo|cto|md|rd|phd|ph\.d\.?|m\.d\.?|jd|cpa|cfp|rn|ms|mph|esq\.?|jr\.?|sr\.?|m\.?a\.?|m\.?s\.?|ldn?|posts?|staff|admin(?:istrator)?|member|follow|more by .*|about|view|profile|biography|bio|see (?:all|more).*|(?:read|all|more) .*)$/i;
const NO_NAME =
  /^(?:by|von|unknown|anonymous|none|null|undefined|n\/a|guest|author|authors|autor|about|follow|share|print|email|comments?|updated|published|date|posted|written|contact|subscribe|home|login|log in|sign in|register|more|view|advertisement|sponsored|editorial|written by|posted by|new member|member|admin|administrator|root|user|edit|reply|views?|replies|new|top|search|menu|name|about (?:the |us|me|this).{0,40}|(?:view|get|see|read|visit|follow|contact|send|show|hide)\s.{1,60}|(?:please )?enter .{0,40}|more from.{0,40})$/i;
/** Authors only when no name is given. */
const TEAM = /^(?:die\s)?redaktion$|^(?:the\s)?(?:editorial|news)?\s?(?:staff|team|room|desk)$|^admin(?:istrator)?$/i;
const ORGANISATION =
  /(?:^|\s)(?:e\.\s?v\.|gmbh|ag|inc\.?|llc|ltd\.?|s\.?a\.?|news|magazin[e]?|team|stiftung|verlag|university)$/i;
const FULL_NAME = /^\S{1,30} \S{1,30}(?: \S{1,30})?$/;
const PERSON = /^[\p{Lu}\p{Lo}][^\d.!?]{0,30}(?:\.?\s[\p{L}'’.-]{1,30}){0,4}$/u;
/** Reading times and counters. */
const COUNT = /^(?:ca\.?\s)?\d{1,9}\s|\d\s?(?:min|views?|comments?|posts?)\b/i;
const MAX_NAME_CHARS = 70;
const MAX_NAME_WORDS = 7;

/** Names in a line such as `By Ann Lee and Bo Ray, staff writers | 3 May`. */
function namesIn(text: string): string[] {
  let line = collapsed(text.slice(0, 400));
  if (line.includes('@')) line = line.replace(EMAIL, ' ').trim();
  if (line === '' || URL.test(line)) return [];
  for (let i = 0; i < 3; i++) {
    const bare = line.replace(PREFIX, '').replace(/^[\s:,\-–—|•·*]{1,10}/, '');
    if (bare === line) break;
    line = bare;
  }
  const cut = CUT.exec(line);
  if (cut !== null && cut.index > 1) line = line.slice(0, cut.index);
  const day = findDay(line, true);
  if (day !== null) line = line.slice(0, day.from);
  return line.split(JOINT).map(cleanName).filter(isName);
}

function cleanName(name: string): string {
  return name
    .replace(PREFIX, '')
    .replace(/^(?:(?:by|von|und|and)\s{1,3}|@)/i, '')
    .replace(/^[\s:.,\-–—|•·*"'“”«»#]{1,10}/, '')
    .replace(/[\s:,\-–—|•·*"'“”«»#]{1,10}$/, '')
    .trim();
}

function isName(name: string): boolean {
  if (name.length < 2 || name.length > MAX_NAME_CHARS || !/\p{L}/u.test(name)) return false;
  if (NO_NAME.test(name) || ROLE.test(name) || COUNT.test(name)) return false;
  return name.split(' ').length <= MAX_NAME_WORDS;
}

/** Names in the lines of one page, which says the same ones in several places. */
class NameReader {
  private readonly known = new Map<string, readonly string[]>();

  namesIn(line: string): readonly string[] {
    let names = this.known.get(line);
    if (names === undefined) this.known.set(line, (names = namesIn(line)));
    return names;
  }

  /** Whether a byline names capitalised words, few and without digits. Running text that begins with "by" does not. */
  seesPeople(line: string): boolean {
    const names = this.namesIn(line);
    return names.length > 0 && names.length <= 6 && names.every((name) => PERSON.test(name));
  }
}

function distinct(names: readonly string[]): string[] {
  const seen = new Set<string>();
  return names.filter((name) => {
    const words = wordsOf(name);
    if (words === '' || seen.has(words)) return false;
    seen.add(words);
    return true;
  });
}
