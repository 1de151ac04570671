/**
 * A model that reads as a small faithful one does: it fills the asked fields with what the data blocks say under the same
 * names, leaves out what they do not say, and answers questions with the line that speaks of them.
 */
import type { BrainRequest, Reply } from './brain.js';
import {
  factsOf,
  headingsOf,
  listItems,
  plainName,
  plainText,
  sentencesOf,
  tableRows,
  type Fact,
} from './fact-text.js';
import { blocksOf, requestOf } from './prompt-reading.js';

type Schema = Record<string, unknown> & { properties?: Record<string, Schema>; items?: Schema };

/** The part that is read at once: a page, or a part of it. */
interface Scope {
  title: string | null;
  url: string | null;
  lines: string[];
  facts: Fact[];
}

const TITLE_NAMES = new Set(['title', 'name', 'heading', 'headline', 'label', 'product', 'term']);
const URL_NAMES = new Set(['url', 'link', 'sourceurl', 'pageurl']);
const SUMMARY_SENTENCES = 2;

export const readingBrain = (({ messages, schema, purpose }) => {
  const scopes = blocksOf(messages).map(({ text, url }) => scopeOf(linesOf(text), url));
  if (schema !== null) return { value: new Reader(schema).read(schema, scopes) };
  if (purpose.includes('summary')) return { text: summaryOf(scopes) };
  return { text: sentenceFor(requestOf(messages), scopes) };
}) satisfies (request: BrainRequest) => Reply;

/** JSON reads like lines. */
function linesOf(text: string): string[] {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null) return jsonLines(parsed);
  } catch {
    // Not JSON: a text.
  }
  return text.split('\n');
}

function jsonLines(value: object): string[] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) =>
    typeof inner === 'object' && inner !== null ? ['', ...jsonLines(inner)] : [`${name}: ${String(inner)}`],
  );
}

function scopeOf(lines: string[], url: string | null, title: string | null = null): Scope {
  const heading = title ?? headingsOf(lines)[0]?.heading ?? null;
  return { title: heading, url, lines, facts: factsOf(lines) };
}

class Reader {
  constructor(private readonly root: Schema) {}

  read(schema: Schema, scopes: Scope[]): unknown {
    const asked = this.resolve(schema);
    if (asked.properties !== undefined) return this.object(asked, scopes);
    if (asked.items !== undefined) return this.array('', asked, scopes) ?? [];
    return scopes.map((scope) => valueOf(sentencesOf(scope.lines)[0] ?? '', asked)).find((value) => value !== null);
  }

  /** Through references and past null, to what a value looks like. */
  private resolve(schema: Schema): Schema {
    if (typeof schema.$ref === 'string') {
      const path = schema.$ref.replace(/^#\/?/, '').split('/').filter(Boolean);
      const target = path.reduce<unknown>((at, key) => (at as Schema | undefined)?.[key], this.root);
      return this.resolve((target ?? {}) as Schema);
    }
    const options = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
    const option = options?.find(({ type }) => type !== 'null');
    return option === undefined ? schema : this.resolve(option);
  }

  private object(schema: Schema, scopes: Scope[]): Record<string, unknown> {
    const entries = Object.entries(schema.properties ?? {}).map(
      ([name, property]) => [name, this.property(name, property, schema, scopes)] as const,
    );
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  }

  private property(name: string, property: Schema, parent: Schema, scopes: Scope[]): unknown {
    const asked = this.resolve(property);
    const value = asked.items === undefined ? this.single(name, asked, scopes) : this.array(name, asked, scopes);
    if (value !== null) return value;
    const isRequired = (parent.required as string[] | undefined)?.includes(name) ?? false;
    if (asked.items !== undefined && !allowsNull(property)) return isRequired ? [] : undefined;
    return isRequired || allowsNull(property) ? null : undefined;
  }

  private single(name: string, asked: Schema, scopes: Scope[]): unknown {
    for (const scope of scopes) {
      const value = asked.properties === undefined ? fieldOf(name, asked, scope) : this.nested(name, asked, scope);
      if (value !== null) return value;
    }
    return null;
  }

  private nested(name: string, asked: Schema, scope: Scope): unknown {
    const found = this.object(asked, [within(name, scope) ?? scope]);
    return Object.values(found).some(isSaid) ? found : null;
  }

  private array(name: string, schema: Schema, scopes: Scope[]): unknown[] | null {
    const item = this.resolve(schema.items!);
    const found = scopes.flatMap((scope) =>
      item.properties === undefined ? valuesOf(name, item, scope) : this.groups(item, within(name, scope) ?? scope),
    );
    return found.length === 0 ? null : found;
  }

  /** Rows of a table, or sections, or runs of lines that begin anew: whichever tells the most. */
  private groups(item: Schema, scope: Scope): Record<string, unknown>[] {
    const names = new Set(Object.keys(item.properties ?? {}).map(plainName));
    const isAsked = ({ name }: Fact): boolean => names.has(plainName(name));
    const part = (facts: Fact[]): Scope => ({ title: null, url: null, lines: [], facts });
    const rows = tableRows(scope.lines)
      .filter((row) => row.some(isAsked))
      .map(part);
    const sections = headingsOf(scope.lines);
    const levels = [...new Set(sections.map(({ level }) => level))].map((level) =>
      sections
        .filter((section) => section.level === level)
        .map(({ heading, lines }) => ({ ...scopeOf(lines, null, heading) }))
        .filter(({ facts }) => facts.some(isAsked)),
    );
    const runs = runsOf(scope.facts.filter(isAsked)).map(part);
    if (runs.length === 1) runs[0] = { ...runs[0]!, title: scope.title, url: scope.url };
    const best = [rows, ...levels, runs].reduce((most, next) => (next.length > most.length ? next : most));
    return best.map((each) => this.object(item, [each]));
  }
}

/** Facts that belong together: a name that comes again begins the next one. */
function runsOf(facts: Fact[]): Fact[][] {
  const runs: Fact[][] = [];
  for (const fact of facts) {
    const last = runs.at(-1);
    if (last === undefined || last.some(({ name }) => plainName(name) === plainName(fact.name))) runs.push([fact]);
    else last.push(fact);
  }
  return runs;
}

/** The section that is named so. */
function within(name: string, scope: Scope): Scope | null {
  const section = headingsOf(scope.lines).find(({ heading }) => plainName(heading) === plainName(name));
  return section === undefined ? null : scopeOf(section.lines, scope.url, section.heading);
}

function fieldOf(name: string, asked: Schema, scope: Scope): unknown {
  const wanted = plainName(name);
  const fact = scope.facts.find((each) => plainName(each.name) === wanted);
  if (fact !== undefined) return valueOf(fact.value, asked, URL_NAMES.has(wanted));
  if (TITLE_NAMES.has(wanted) && scope.title !== null) return valueOf(scope.title, asked);
  if (URL_NAMES.has(wanted) && scope.url !== null) return valueOf(scope.url, asked, true);
  return null;
}

function valuesOf(name: string, item: Schema, scope: Scope): unknown[] {
  const wanted = plainName(name);
  const singular = wanted.replace(/ies$/, 'y').replace(/s$/, '');
  const section = within(name, scope);
  const items = section === null ? [] : listItems(section.lines);
  const plural = scope.facts.find((each) => plainName(each.name) === wanted);
  const texts =
    items.length > 0
      ? items
      : plural !== undefined
        ? plural.value.split(/\s*[,;]\s*/)
        : [...tableRows(scope.lines).flat(), ...scope.facts]
            .filter((each) => plainName(each.name) === singular)
            .map(({ value }) => value);
  return texts.map((text) => valueOf(text, item)).filter((value) => value !== null);
}

function typeOf({ type }: Schema): string {
  const types = Array.isArray(type) ? (type as string[]) : [type as string | undefined];
  return types.find((each) => each !== 'null') ?? 'string';
}

function allowsNull(schema: Schema): boolean {
  const { type } = schema;
  if (type === 'null' || (Array.isArray(type) && type.includes('null'))) return true;
  return ((schema.anyOf ?? schema.oneOf) as Schema[] | undefined)?.some(allowsNull) ?? false;
}

function valueOf(raw: string, asked: Schema, isUrl = false): unknown {
  const link = /\]\(([^)\s]+)/.exec(raw)?.[1];
  const text = (isUrl ? link : undefined) ?? plainText(raw);
  if (text === '') return null;
  const options = asked.enum as unknown[] | undefined;
  if (options !== undefined) return options.find((each) => plainName(String(each)) === plainName(text)) ?? null;
  const type = typeOf(asked);
  if (type === 'boolean') return /^(?:yes|true|in stock|available)\b/i.test(text);
  if (type !== 'number' && type !== 'integer') return text;
  const number = /-?\d[\d,]*(?:\.\d+)?/.exec(text)?.[0];
  return number === undefined ? null : Number(number.replaceAll(',', ''));
}

function isSaid(value: unknown): boolean {
  return value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
}

function summaryOf(scopes: Scope[]): string {
  const sentences = scopes.flatMap(({ lines }) => sentencesOf(lines));
  return sentences.slice(0, SUMMARY_SENTENCES).join(' ') || (scopes[0]?.title ?? 'The data says nothing.');
}

/** The line or sentence that shares most words with the request. */
function sentenceFor(request: string, scopes: Scope[]): string {
  const asked = new Set(wordsOf(request));
  const said = scopes.flatMap(({ lines, facts }) => [
    ...facts.map(({ name, value }) => `${name}: ${plainText(value)}`),
    ...sentencesOf(lines),
  ]);
  const shared = (text: string): number => new Set(wordsOf(text).filter((word) => asked.has(word))).size;
  const best = said.reduce((most, text) => (shared(text) > shared(most) ? text : most), '');
  return best === '' ? 'The data does not say.' : `According to the page: ${best}`;
}

function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []).filter((word) => !STOP_WORDS.has(word));
}

const STOP_WORDS = new Set(['the', 'and', 'what', 'which', 'who', 'how', 'was', 'are', 'for', 'this', 'that', 'does']);
