/** Day of publication: votes of JSON-LD, metas, microdata, `time`, dates near the title and the URL. */
import { dayOf, findDay, isMonthFirst, isoDay } from './date-text.js';
import { ldText, type LdItem } from './json-ld.js';
import { monthOf } from './months.js';
import type { DaySign } from './signs.js';

export interface DateEvidence {
  readonly articles: readonly LdItem[];
  /** Items that are pages, not articles. */
  readonly pages: readonly LdItem[];
  readonly metas: ReadonlyMap<string, readonly string[]>;
  readonly days: readonly DaySign[];
  /** Texts near the title, nearest first. */
  readonly nearby: readonly string[];
  /** Short texts that hold something like a date, whole page; asked for when nothing better is known. */
  readonly anywhere: () => readonly string[];
  readonly heading: number;
  readonly language: string | null;
  readonly url: string;
}

interface Vote {
  readonly day: string;
  /** The day in ms. */
  readonly at: number;
  readonly source: string;
  readonly weight: number;
  /** As the page writes it, when machine-readable. */
  readonly raw: string | null;
}

const META_WEIGHTS: readonly (readonly [string, number])[] = [
  ['article:published_time', 10],
  ['article:published', 8],
  ['og:article:published_time', 9],
  ['og:published_time', 8],
  ['og:pubdate', 8],
  ['datepublished', 9],
  ['date', 6],
  ['pubdate', 8],
  ['publishdate', 8],
  ['publish-date', 8],
  ['publish_date', 8],
  ['published', 8],
  ['published_at', 8],
  ['publication_date', 8],
  ['publicationdate', 8],
  ['publication-date', 8],
  ['published-date', 8],
  ['article.published', 8],
  ['article_date_original', 8],
  ['article-publication-date', 8],
  ['parsely-pub-date', 8],
  ['sailthru.date', 8],
  ['bt:pubdate', 8],
  ['shareaholic:article_published_time', 8],
  ['rnews:datepublished', 8],
  ['cxenseparse:recs:publishtime', 8],
  ['cxenseparse:publishtime', 8],
  ['citation_publication_date', 7],
  ['citation_online_date', 7],
  ['citation_date', 7],
  ['dc.date', 6],
  ['dc.date.issued', 8],
  ['dc.date.created', 7],
  ['dc.date.published', 8],
  ['dc.created', 7],
  ['dcterms.issued', 8],
  ['dcterms.created', 7],
  ['dcterms.date', 6],
  ['dcsext.articlefirstpublished', 8],
  ['created', 6],
  ['creation_date', 6],
  ['timestamp', 5],
  ['displaydate', 6],
  ['originalpublicationdate', 8],
  ['vr:published_time', 8],
  ['datecreated', 5],
  ['last-modified', 2],
  ['lastmod', 2],
  ['revised', 2],
  ['datemodified', 2],
  ['article:modified_time', 2],
  ['og:updated_time', 2],
  ['dcterms.modified', 2],
  ['dc.date.modified', 2],
];
const URL_NAMED_DAY = /\/((?:19|20)\d{2})\/([a-z]{3,9})\/(\d{1,2})(?!\d)/i;
const MAX_URL_CHARS = 500;
/** A page with more dates, none of them marked in any way, is a list or a calendar. */
const MAX_UNMARKED_DAYS = 4;
/** Weight of the day of a change beside that of the publication. */
const MODIFIED_TRUST = 0.4;
const UPDATED =
  /updated?\b|modified|revised|reviewed|edited|aktualisiert|geändert|stand:|mis à jour|modifi|actualizad|atualizad|aggiornat|bijgewerkt|gewijzigd|zaktualizowan|aktualizov|uppdaterad|güncelle|обновлен/i;
/** Votes from here on are of sources that mean the day of publication and nothing else. */
const DECLARED_WEIGHT = 8;
const ORIGINAL_BONUS = 4;
/** The day since which a person has been a member is no date of a text. */
const MEMBERSHIP =
  /^[\s:]{0,5}(?:registered|joined|join date|member since|registriert|beigetreten|dabei seit|mitglied seit|inscrit|registrado|lid sinds)/i;
const DAY_MS = 86_400_000;
const URL_DAY = /\/((?:19|20)\d{2})[/-](\d{1,2})[/-](\d{1,2})(?!\d)|[/_-]((?:19|20)\d{2})-?(\d{2})-?(\d{2})(?!\d)/;

export function chooseDate(evidence: DateEvidence): string | null {
  const votes = votesOf(evidence);
  const agreements = new Map<number, number>();
  let best: Vote | null = null;
  let bestScore = 0;
  for (const vote of votes) {
    let agreed = agreements.get(vote.at);
    if (agreed === undefined) agreements.set(vote.at, (agreed = agreementOn(vote.at, votes)));
    const score = vote.weight * 0.5 + (isOriginal(vote, votes) ? ORIGINAL_BONUS : 0) + agreed;
    if (score < bestScore || (score === bestScore && best !== null && vote.day >= best.day)) continue;
    best = vote;
    bestScore = score;
  }
  return best === null ? null : (best.raw ?? best.day);
}

function votesOf(evidence: DateEvidence): Vote[] {
  const votes: Vote[] = [];
  const monthFirst = isMonthFirst(evidence.language);
  const add = (text: string | undefined, source: string, weight: number, trust = trustAlways): void => {
    if (text === undefined || text === '' || MEMBERSHIP.test(text)) return;
    const iso = isoDay(text);
    const day = iso ?? findDay(text, monthFirst)?.day;
    if (day !== undefined)
      votes.push({
        day,
        at: Date.parse(day),
        source,
        weight: weight * trust(text),
        raw: iso === null ? null : text.trim().slice(0, 60),
      });
  };
  for (const { object } of evidence.articles) {
    add(ldText(object['datePublished']), 'ld', 10);
    add(ldText(object['dateCreated']), 'ld', 7);
    add(ldText(object['uploadDate']), 'ld', 4);
    add(ldText(object['dateModified']), 'ld', 2);
  }
  for (const { object } of evidence.pages) {
    add(ldText(object['datePublished']), 'ld', 6);
    add(ldText(object['dateModified']), 'ld', 1);
  }
  for (const [name, weight] of META_WEIGHTS) add(evidence.metas.get(name)?.[0], 'meta', weight);
  addSigns(evidence, add);
  evidence.nearby.forEach((text, i) => add(text, 'near', 5 / (1 + i * 0.5), trustIn));
  addUrl(evidence.url, votes);
  if (votes.length === 0) for (const text of evidence.anywhere()) add(text, 'near', 1);
  const isCalendar = votes.length > MAX_UNMARKED_DAYS && votes.every(({ weight }) => weight === 1);
  return isCalendar ? [] : votes;
}

/** @param trust asked only for a text that names a day. */
type Add = (text: string | undefined, source: string, weight: number, trust?: (text: string) => number) => void;

const SIGN_WEIGHTS: Readonly<Record<DaySign['kind'], number>> = { itemprop: 7, time: 4, class: 3.5, rel: 0 };

function addSigns({ days, heading }: DateEvidence, add: Add): void {
  let before = 0;
  for (const sign of days) {
    let weight = SIGN_WEIGHTS[sign.kind];
    if (sign.isPublished) weight *= 1.4;
    if (sign.isModified) weight *= MODIFIED_TRUST;
    if (sign.isAside) weight *= 0.3;
    if (heading >= 0 && Math.abs(sign.node - heading) < 80) weight *= 1.3;
    add(sign.text, sign.kind, weight / (1 + before * 0.1), sign.isModified ? trustAlways : trustIn);
    before++;
  }
}

function trustAlways(_text: string): number {
  return 1;
}

function trustIn(text: string): number {
  return UPDATED.test(text) ? MODIFIED_TRUST : 1;
}

function addUrl(url: string, votes: Vote[]): void {
  const text = url.slice(0, MAX_URL_CHARS);
  const [, y1, m1, d1, y2, m2, d2] = URL_DAY.exec(text) ?? [];
  const [, year, month, day] = URL_NAMED_DAY.exec(text) ?? [];
  const found =
    year === undefined
      ? dayOf(Number(y1 ?? y2 ?? 0), Number(m1 ?? m2 ?? 0), Number(d1 ?? d2 ?? 0))
      : dayOf(Number(year), monthOf(month!.toLowerCase()), Number(day));
  if (found !== null) votes.push({ day: found, at: Date.parse(found), source: 'url', weight: 7, raw: null });
}

/** Whether it is the earlier of two days that are both declared as the day of publication. The later is that of a new edition. */
function isOriginal(vote: Vote, votes: readonly Vote[]): boolean {
  if (vote.weight < DECLARED_WEIGHT) return false;
  return votes.some((other) => other.weight >= DECLARED_WEIGHT && other.at - vote.at > DAY_MS);
}

/** Sum of the sources that speak for a day, each once. Days next to each other agree, because of time zones. */
function agreementOn(at: number, votes: readonly Vote[]): number {
  const bySource = new Map<string, number>();
  for (const other of votes) {
    if (Math.abs(other.at - at) > DAY_MS) continue;
    const value = other.weight;
    if (value > (bySource.get(other.source) ?? 0)) bySource.set(other.source, value);
  }
  let sum = 0;
  for (const value of bySource.values()) sum += value;
  return sum;
}
