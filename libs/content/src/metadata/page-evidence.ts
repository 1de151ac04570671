/** Title, author, day and the rest of what a page says about itself, from all its sources together. */
import type { Tree } from '@troupe/html';
import { chooseAuthor } from './author.js';
import { chooseDate } from './date.js';
import { ldText, listOf, isObject, type LdGraph, type LdItem } from './json-ld.js';
import { readSigns } from './signs.js';
import { chooseTitle } from './title.js';
import { bylinesAnywhere, datesAnywhere, readSurroundings } from './title-surroundings.js';

export interface VotedFacts {
  readonly title: string | null;
  readonly author: string | null;
  readonly published: string | null;
  readonly modified: string | null;
  readonly description: string | null;
  readonly language: string | null;
}

export interface HeadFacts {
  /** Absolute URL of the page. */
  readonly url: string;
  readonly host: string;
  /** Text of `<title>`. */
  readonly title: string | null;
  readonly language: string | null;
  /** Contents by lower-case name or property. */
  readonly metas: ReadonlyMap<string, readonly string[]>;
}

const ARTICLE_TYPE =
  /article|posting|^report$|^review$|^recipe$|^creativework$|^newsarticle$|^howto$|^podcastepisode$|^course$|^book$|^scholarlyarticle$|^message$/;
const PAGE_TYPE = /page$|^website$|^videoobject$|^product$/;
/** Items of JSON-LD that take part in votes. */
const MAX_ITEMS = 40;
const MAX_NAMES = 5;
const OWN_ROLES: ReadonlySet<string> = new Set(['', 'mainentity', 'mainentityofpage', 'subjectof', 'about']);
const DECLARED_TITLES = [
  'og:title',
  'twitter:title',
  'parsely-title',
  'sailthru.title',
  'dc.title',
  'citation_title',
  'title',
];
const SITE_NAMES = [
  'og:site_name',
  'application-name',
  'apple-mobile-web-app-title',
  'twitter:site',
  'publisher',
  'copyright',
];

export function voteFacts(tree: Tree, graph: LdGraph, head: HeadFacts): VotedFacts {
  const own = graph.items.filter((item) => OWN_ROLES.has(item.role)).slice(0, MAX_ITEMS);
  const articles = own.filter(({ types }) => types.some((type) => ARTICLE_TYPE.test(type)));
  const questions = own.filter(({ types }) => types.includes('question'));
  if (questions.length === 1) articles.push(questions[0]!);
  const pages = own.filter((item) => !articles.includes(item) && item.types.some((type) => PAGE_TYPE.test(type)));
  const signs = readSigns(tree);
  const siteNames = siteNamesOf(head, graph);
  const title = chooseTitle({
    title: head.title,
    declared: firstOfEach(head.metas, DECLARED_TITLES).map(ldText),
    headlines: [...articles.map(({ object }) => ldText(object['headline'] ?? object['name'])), ...signs.headlines],
    headings: signs.headings,
    siteNames,
    host: head.host,
    isFrontPage: /^https?:\/\/[^/]{1,300}\/?(?:[?#]|$)/.test(head.url),
    isArticle: articles.length > 0 || head.metas.get('og:type')?.[0]?.trim().toLowerCase() === 'article',
  });
  const heading = title?.heading ?? -1;
  const around = readSurroundings(tree, heading);
  const language = head.language ?? declaredLanguage(head, own);
  const { metas } = head;
  return {
    title: title?.text ?? null,
    author: chooseAuthor({
      graph,
      articles,
      metas,
      heading,
      siteNames,
      people: signs.people,
      bylines: around.bylines,
      anywhere: () => bylinesAnywhere(tree),
    }),
    published: chooseDate({
      articles,
      metas,
      heading,
      pages,
      days: signs.days,
      nearby: around.dated,
      anywhere: () => datesAnywhere(tree),
      language,
      url: head.url,
    }),
    modified: firstText(articles, 'dateModified') ?? firstText(pages, 'dateModified'),
    description: declaredDescription(head, [...articles, ...pages]),
    language,
  };
}

function siteNamesOf({ metas }: HeadFacts, graph: LdGraph): string[] {
  const names = firstOfEach(metas, SITE_NAMES).map((name) => name.replace(/^@/, ''));
  for (const { types, role, object } of graph.items) {
    const isSite = types.includes('website') || role === 'publisher' || types.includes('organization');
    if (isSite && names.length < 20) names.push(...namesOf(object['name']), ...namesOf(object['alternateName']));
  }
  return names.filter((name) => name !== '');
}

function firstOfEach(metas: HeadFacts['metas'], names: readonly string[]): string[] {
  const found: string[] = [];
  for (const name of names) {
    const values = metas.get(name);
    if (values !== undefined) found.push(values[0]!);
  }
  return found;
}

function namesOf(value: unknown): string[] {
  return listOf(value).slice(0, MAX_NAMES).map(ldText);
}

function declaredLanguage({ metas }: HeadFacts, items: readonly LdItem[]): string | null {
  for (const name of ['content-language', 'language', 'dc.language', 'dcterms.language', 'og:locale']) {
    const value = metas.get(name)?.[0]?.trim();
    if (value !== undefined && value !== '') return value.replace('_', '-');
  }
  return firstText(items, 'inLanguage');
}

function declaredDescription({ metas }: HeadFacts, items: readonly LdItem[]): string | null {
  for (const name of [
    'og:description',
    'twitter:description',
    'dc.description',
    'dcterms.description',
    'sailthru.description',
  ]) {
    const value = ldText(metas.get(name)?.[0]);
    if (value !== '') return value;
  }
  return firstText(items, 'description');
}

function firstText(items: readonly LdItem[], property: string): string | null {
  for (const { object } of items) {
    const value = object[property];
    const text = ldText(isObject(value) && value['@value'] === undefined ? value['name'] : value);
    if (text !== '') return text;
  }
  return null;
}
