/**
 * Groups the objects of a list that are about the same thing.
 *
 * An identifier that both have decides (`sku`, `isbn`, `id`, `url` …, the most specific first). Without one they are the same when
 * they have the same name or title and nothing short that both tell disagrees: two jobs of one title in two towns stay two.
 * Without a name, only objects that tell exactly the same are one. Losing a thing is worse than listing it twice.
 */
import { foldSpaces, isEmpty, isObject, valueKey, type JsonObject } from './json-value.js';

/** By meaning, most specific first; names are compared without case, `_`, `-` and spaces. */
const IDENTIFIERS = [
  ['isbn', 'isbn13', 'isbn10', 'gtin', 'ean', 'upc', 'asin', 'doi', 'issn'],
  ['sku', 'mpn', 'articlenumber', 'productnumber', 'partnumber', 'itemnumber', 'ordernumber'],
  ['id', 'uuid', 'guid', 'identifier', 'key', 'slug', 'productid', 'itemid'],
  ['email', 'mail', 'emailaddress'],
  ['url', 'link', 'href', 'permalink', 'productlink', 'producturl', 'pageurl', 'website'],
] as const;
const LEVELS = new Map(IDENTIFIERS.flatMap((names, level) => names.map((name) => [name as string, level])));
const NAMES = ['name', 'title', 'fullname', 'productname', 'companyname', 'headline', 'label'] as const;
/** Longer texts are prose, which pages word differently. */
const MAX_FACT_CHARS = 60;
/** Things of one name that are compared one by one. */
const MAX_NAMESAKES = 50;

export interface EntityGroup<M> {
  members: M[];
}

interface Known<M> extends EntityGroup<M> {
  /** First told value of each field. */
  facts: Map<string, unknown>;
}

/** Groups in the order of their first members. */
export class EntityGroups<M> {
  readonly groups: EntityGroup<M>[] = [];
  private readonly byKey = new Map<string, Known<M>>();
  private readonly byName = new Map<string, Known<M>[]>();

  add(value: unknown, member: M): void {
    const features = featuresOf(value);
    const group = this.find(features) ?? this.open();
    group.members.push(member);
    this.learn(group, features);
  }

  private open(): Known<M> {
    const group: Known<M> = { members: [], facts: new Map() };
    this.groups.push(group);
    return group;
  }

  private find({ facts, identifiers, name, whole }: Features): Known<M> | null {
    for (const { key, level } of identifiers) {
      const known = this.byKey.get(key);
      if (known !== undefined && !hasOtherIdentity(known.facts, facts, level)) return known;
    }
    if (whole !== null) return this.byKey.get(whole) ?? null;
    return this.byName.get(name!)?.find((known) => !disagree(known.facts, facts)) ?? null;
  }

  private learn(group: Known<M>, { facts, identifiers, name, whole }: Features): void {
    for (const [field, fact] of facts) if (!group.facts.has(field)) group.facts.set(field, fact);
    const keys = identifiers.map(({ key }) => key);
    for (const key of whole === null ? keys : [...keys, whole]) {
      if (!this.byKey.has(key)) this.byKey.set(key, group);
    }
    if (name !== null) this.learnName(group, name);
  }

  private learnName(group: Known<M>, name: string): void {
    const namesakes = this.byName.get(name);
    if (namesakes === undefined) this.byName.set(name, [group]);
    else if (namesakes.length < MAX_NAMESAKES && !namesakes.includes(group)) namesakes.push(group);
  }
}

/** Features by which a thing is recognised. */
interface Features {
  /** Told fields by their plain names. */
  facts: Map<string, unknown>;
  identifiers: { key: string; level: number }[];
  name: string | null;
  /** All that it tells; null: its name stands for it. */
  whole: string | null;
}

function featuresOf(value: unknown): Features {
  if (!isObject(value)) return { facts: new Map(), identifiers: [], name: null, whole: valueKey(value) };
  const facts = factsOf(value);
  const name = nameOf(facts);
  return { facts, identifiers: identifiersOf(facts), name, whole: name === null ? valueKey(value) : null };
}

function factsOf(value: JsonObject): Map<string, unknown> {
  const facts = new Map<string, unknown>();
  for (const [field, fact] of Object.entries(value)) {
    const name = plainName(field);
    if (!isEmpty(fact) && !facts.has(name)) facts.set(name, fact);
  }
  return facts;
}

function plainName(field: string): string {
  return field.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

function identifiersOf(facts: Map<string, unknown>): Features['identifiers'] {
  const found: Features['identifiers'] = [];
  for (const field of facts.keys()) {
    const level = LEVELS.get(field);
    const text = level === undefined ? null : identityText(facts.get(field));
    if (text !== null) found.push({ key: `${field} ${text}`, level: level! });
  }
  return found.sort((a, b) => a.level - b.level);
}

/** A more specific identifier that both have tells them apart, though they share a less specific one. */
function hasOtherIdentity(a: Map<string, unknown>, b: Map<string, unknown>, below: number): boolean {
  return IDENTIFIERS.slice(0, below).some((names) => names.some((name) => differ(a.get(name), b.get(name))));
}

function differ(a: unknown, b: unknown): boolean {
  const [left, right] = [identityText(a), identityText(b)];
  return left !== null && right !== null && left !== right;
}

/** Identifiers are texts or numbers; a URL counts without its fragment and last slash. */
function identityText(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return null;
  const text = foldSpaces(value).toLowerCase();
  return /^https?:\/\//.test(text) ? text.replace(/#.*$/, '').replace(/\/$/, '') : text || null;
}

function nameOf(facts: Map<string, unknown>): string | null {
  for (const field of NAMES) {
    const name = facts.get(field);
    if (typeof name === 'string') return foldSpaces(name).toLowerCase();
  }
  return null;
}

function disagree(a: Map<string, unknown>, b: Map<string, unknown>): boolean {
  for (const [field, fact] of b) if (a.has(field) && areAtOdds(a.get(field), fact)) return true;
  return false;
}

/** Short texts, numbers and booleans that both tell and that are not the same. Texts that hold one another agree. */
function areAtOdds(a: unknown, b: unknown): boolean {
  if (typeof a === 'object' || typeof b === 'object') return false;
  if (typeof a !== 'string' || typeof b !== 'string') return a !== b;
  const [left, right] = [foldSpaces(a).toLowerCase(), foldSpaces(b).toLowerCase()];
  if (left.length > MAX_FACT_CHARS || right.length > MAX_FACT_CHARS) return false;
  return !left.includes(right) && !right.includes(left);
}
