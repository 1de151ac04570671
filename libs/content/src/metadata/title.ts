/** Title of the page's own text: the name of the site and the like taken off. */
import type { Heading } from './signs.js';
import { holdsWords, wordsOf } from './words-of.js';

export interface TitleEvidence {
  /** Text of `<title>`. */
  readonly title: string | null;
  /** og:title, twitter:title and the like, best first. */
  readonly declared: readonly string[];
  /** Headlines of JSON-LD and microdata. */
  readonly headlines: readonly string[];
  readonly headings: readonly Heading[];
  /** Names of the site. */
  readonly siteNames: readonly string[];
  readonly host: string;
  /** The page is the front page of its site, whose headings are slogans. */
  readonly isFrontPage: boolean;
  /** The page calls itself an article. */
  readonly isArticle: boolean;
}

const SEPARATOR = /\s+[|\-–—·•»«:/>~‹›⋆*]+\s+|\s*[|｜»«•]\s*|\s+::\s+|:\s+/g;
const HAS_SEPARATOR = /[|\-–—·•»«:/>~‹›⋆*｜]/;
/** Score for being the page's only `h1`, beside a declared title that says the same (2). */
const ONLY_HEADING_SCORE = 0.6;
const MIN_SHARED_CHARS = 4;
const MAX_TITLE_CHARS = 1000;

export interface PageTitle {
  readonly text: string;
  /** Node of the heading that says the same; -1 when none does. */
  readonly heading: number;
}

/** Evidence with its words. */
interface Evidence extends Omit<TitleEvidence, 'siteNames' | 'host'> {
  readonly sites: ReadonlySet<string>;
  /** The host's main label. */
  readonly label: string;
  readonly headings: readonly WordedHeading[];
}

interface WordedHeading extends Heading {
  readonly words: string;
}

function worded(heading: Heading): WordedHeading {
  const { node, level, text, isAside } = heading;
  return { node, level, text, isAside, words: wordsOf(text) };
}

/** Property by property, which is much faster than a spread. */
function prepared(given: TitleEvidence): Evidence {
  const { title, declared, headlines, headings, isFrontPage, isArticle } = given;
  const sites = siteWords(given);
  return {
    title,
    declared,
    headlines,
    headings: headings.map(worded),
    sites,
    label: mainLabel(given.host),
    isFrontPage,
    isArticle,
  };
}

export function chooseTitle(given: TitleEvidence): PageTitle | null {
  const evidence = prepared(given);
  const texts = [evidence.title ?? '', ...evidence.declared, ...evidence.headlines].filter((text) => text !== '');
  const heading = mainHeading(evidence, texts);
  if (heading !== null)
    return { text: heldTitle(heading.words, texts, evidence) ?? heading.text, heading: heading.node };
  const best = texts[0];
  if (best === undefined) return firstHeading(evidence);
  const text = withoutSite(shortest(best, evidence.declared), evidence);
  return { text, heading: matchingHeading(evidence, text) };
}

/** The declared title that is the first title with something left off, else the first title itself. */
function shortest(title: string, declared: readonly string[]): string {
  const words = wordsOf(title);
  return declared.find((text) => holdsWords(words, wordsOf(text))) ?? title;
}

function firstHeading({ headings }: Pick<TitleEvidence, 'headings'>): PageTitle | null {
  const heading = headings.find(({ isAside, level }) => !isAside && level <= 2);
  return heading === undefined ? null : { text: heading.text, heading: heading.node };
}

/** A declared title that the heading holds with something around it (`2. Chapter`, `Chapter (site) 87`), null when there is none. */
function heldTitle(words: string, texts: readonly string[], evidence: Evidence): string | null {
  for (const text of texts) {
    const bare = withoutSite(text, evidence);
    const part = wordsOf(bare);
    if (part === words) return null;
    if (part.length * 4 > words.length && holdsWords(words, part)) return bare;
  }
  return null;
}

/** The heading whose words the declared titles confirm. */
function mainHeading(evidence: Evidence, texts: readonly string[]): WordedHeading | null {
  const declared = texts.map(wordsOf);
  const { sites } = evidence;
  const only = loneHeading(evidence, declared);
  let best: WordedHeading | null = null;
  let bestScore = 0;
  for (const heading of evidence.headings) {
    const { words } = heading;
    if (words === '' || sites.has(words)) continue;
    const said = agreement(words, declared) + (heading === only ? ONLY_HEADING_SCORE : 0);
    const score = said * (heading.level === 1 ? 1 : 0.6) * (heading.isAside ? 0.5 : 1);
    if (score <= bestScore) continue;
    best = heading;
    bestScore = score;
  }
  return best;
}

/**
 * The page's one `h1` outside sidebars that is not the site's name, although no declared title says the same: on an article,
 * or when a declared title shares a word with it or says nothing but the site's name.
 */
function loneHeading(evidence: Evidence, declared: readonly string[]): WordedHeading | null {
  const { sites, isFrontPage } = evidence;
  if (isFrontPage) return null;
  const found = evidence.headings.filter(({ level, isAside, words }) => level === 1 && !isAside && !sites.has(words));
  if (found.length !== 1) return null;
  if (evidence.isArticle) return found[0]!;
  if (evidence.declared.length > 0) return null;
  const words = new Set(found[0]!.words.split(' ').filter((word) => word.length >= MIN_SHARED_CHARS));
  const isShared = declared.some((text) => sites.has(text) || text.split(' ').some((word) => words.has(word)));
  return isShared || declared.length === 0 ? found[0]! : null;
}

/** 0 when no declared title says so; more when more of them do, and more of their words. */
function agreement(words: string, declared: readonly string[]): number {
  let sum = 0;
  for (const text of declared) {
    if (text === words) sum += 2;
    else if (text.length > words.length && holdsWords(text, words)) sum += words.length / text.length;
  }
  return sum > 0.3 ? sum : 0;
}

function matchingHeading({ headings }: Evidence, text: string): number {
  const words = wordsOf(text);
  for (const heading of headings) if (heading.words === words) return heading.node;
  return headings.find(({ level, isAside }) => level === 1 && !isAside)?.node ?? -1;
}

/** Names of the site as words, and its host's main label. */
function siteWords({ siteNames, host }: TitleEvidence): Set<string> {
  const words = new Set(siteNames.map(wordsOf));
  words.delete('');
  const name = host.toLowerCase();
  words.add((name.startsWith('www.') ? name.slice(4) : name).replaceAll('.', ' '));
  return words;
}

/** Parts at either end that are the site's name are taken off; on the front page they are the title. */
function withoutSite(title: string, evidence: Evidence): string {
  if (evidence.isFrontPage) return title.trim();
  const { sites, label } = evidence;
  const isSite = (part: string): boolean => {
    const words = wordsOf(part);
    return words === '' || sites.has(words) || words.replaceAll(' ', '') === label;
  };
  const cuts = cutsOf(title.slice(0, MAX_TITLE_CHARS));
  let from = 0;
  let to = title.length;
  for (let i = cuts.length - 1; i >= 0 && cuts[i]!.from > 0 && isSite(title.slice(cuts[i]!.to, to)); i--)
    to = cuts[i]!.from;
  for (const cut of cuts) {
    if (cut.to >= to || !isSite(title.slice(from, cut.from))) break;
    from = cut.to;
  }
  return title.slice(from, to).trim();
}

function cutsOf(title: string): { from: number; to: number }[] {
  if (!HAS_SEPARATOR.test(title)) return [];
  return [...title.matchAll(SEPARATOR)].map((match) => ({ from: match.index, to: match.index + match[0].length }));
}

function mainLabel(host: string): string {
  const labels = host.toLowerCase().split('.');
  for (let i = labels.length - 2; i >= 0; i--) if (labels[i]!.length > 3) return labels[i]!.replaceAll('-', '');
  return (labels.at(-2) ?? '').replaceAll('-', '');
}
