/** Body of `POST /v2/search` (docs/api/search.md). */
import {
  BooleanField,
  Field,
  isPlainObject,
  ListField,
  listIssues,
  NestedField,
  NumberField,
  TextField,
  textIssues,
  type Schema,
} from '../validation/fields.js';
import {
  customIssue,
  noUnionMember,
  notInEnum,
  notOffered,
  under,
  unknownKeys,
  type Issue,
} from '../validation/issue.js';
import { OriginDto, ScrapeOptionsDto } from './scrape-options.dto.js';

/** An index of the hosted service. Its MCP server names it in every search beside the web, without being asked to. */
export const HOSTED_SOURCES: readonly string[] = ['alexandria', 'exchange'];
const SOURCES = ['web', 'news', 'images', ...HOSTED_SOURCES];
const CATEGORIES = ['github', 'research', 'pdf', 'developer'];
/** A category that clients know, from an index that does not exist here. */
const MISSING_CATEGORY = 'gov';
/** Options that a source may set for itself; they win over those of the body. */
const WEB_KEYS = ['tbs', 'filter', 'lang', 'country', 'location'] as const;
const MAX_ITEMS = 20;
const MAX_DOMAINS = 100;
const MAX_QUERY_CHARS = 10_000;
const MAX_WORD_CHARS = 200;
const HOST_NAME = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{2,63}$/i;
/** Options whose promise a provider cannot keep, because it knows nothing of it. */
const UNKEPT_PROMISES = ['zdr', 'anon'];

const QUERY_SCHEMA = { type: 'string', minLength: 1, maxLength: MAX_QUERY_CHARS };
const DOMAINS_SCHEMA = { type: 'array', items: { type: 'string' }, maxItems: MAX_DOMAINS };

/** A name, or an object with the name as its `type`. */
function typedSchema(names: readonly string[]): Schema {
  const name = { type: 'string', enum: names };
  return { anyOf: [name, { type: 'object', required: ['type'], properties: { type: name } }] };
}

export type TypedInput = string | { type: string; [option: string]: unknown };

/** Options that go to the provider. */
export class SearchWordsDto extends OriginDto {
  @Field(queryIssues, { required: true, schema: QUERY_SCHEMA }) query!: string;
  @NumberField({ min: 1, max: 100, default: 10 }) limit?: number;
  @TextField({ maxLength: MAX_WORD_CHARS }) tbs?: string;
  @TextField({ maxLength: MAX_WORD_CHARS }) filter?: string;
  @TextField({ maxLength: MAX_WORD_CHARS }) location?: string;
  @TextField({ maxLength: MAX_WORD_CHARS }) country?: string;
  @TextField({ maxLength: MAX_WORD_CHARS }) lang?: string;
  @NumberField({ above: 0, default: 60_000 }) timeout?: number;
  @BooleanField({ default: false }) ignoreInvalidURLs?: boolean;
}

export class SearchDto extends SearchWordsDto {
  @ListField((value) => typedIssues(value, SOURCES, WEB_KEYS), { maxItems: MAX_ITEMS, items: typedSchema(SOURCES) })
  sources?: TypedInput[];
  @Field(categoriesIssues, { schema: { type: 'array', items: typedSchema(CATEGORIES), maxItems: MAX_ITEMS } })
  categories?: TypedInput[];
  @ListField(domainIssues, { maxItems: MAX_DOMAINS, items: { type: 'string' } }) includeDomains?: string[];
  @Field(excludedIssues, { schema: DOMAINS_SCHEMA }) excludeDomains?: string[];
  @NestedField(() => ScrapeOptionsDto) scrapeOptions?: ScrapeOptionsDto;
  /** true: explicit results are left out. */
  @BooleanField({ default: false }) safe?: boolean;
  @Field(() => []) highlights?: unknown;
  @Field(() => []) domainTools?: unknown;
  @Field(enterpriseIssues) enterprise?: unknown;
}

function queryIssues(value: unknown): Issue[] {
  const issues = textIssues(value, { minLength: 1, maxLength: MAX_QUERY_CHARS });
  return issues.length === 0 && (value as string).trim() === '' ? [customIssue('query must not be blank')] : issues;
}

/** A name, or an object with the name as its type. */
function typedIssues(value: unknown, names: string[], keysOfWeb: readonly string[]): Issue[] {
  if (typeof value === 'string') return names.includes(value) ? [] : [notInEnum(names, value)];
  if (!isPlainObject(value)) return [noUnionMember('Expected a name or an object with a type')];
  if (!names.includes(value.type as string)) return [notInEnum(names, value.type, ['type'])];
  const words = value.type === 'web' ? keysOfWeb : [];
  const unknown = Object.keys(value).filter((key) => key !== 'type' && !words.includes(key));
  const wrong = words
    .filter((word) => value[word] !== undefined)
    .flatMap((word) => under([word], textIssues(value[word], { maxLength: MAX_WORD_CHARS })));
  return unknown.length > 0 ? [unknownKeys(unknown), ...wrong] : wrong;
}

/** The name of a source or a category, however it was said. */
export function nameOf(input: unknown): unknown {
  return isPlainObject(input) ? input.type : input;
}

function categoriesIssues(value: unknown): Issue[] {
  const issues = listIssues(value, categoryIssues, { maxItems: MAX_ITEMS });
  if (issues.length > 0) return issues;
  const names = new Set((value as TypedInput[]).map(nameOf));
  const isMixed = names.has('developer') && names.size > 1;
  return isMixed ? [customIssue('The category developer cannot be combined with others')] : [];
}

function categoryIssues(value: unknown): Issue[] {
  return nameOf(value) === MISSING_CATEGORY ? [notOffered('The category gov')] : typedIssues(value, CATEGORIES, []);
}

function domainIssues(value: unknown): Issue[] {
  const issues = textIssues(value, {});
  if (issues.length > 0) return issues;
  return HOST_NAME.test(value as string) ? [] : [customIssue('Expected a host name such as example.com')];
}

function excludedIssues(value: unknown, body: object): Issue[] {
  const issues = listIssues(value, domainIssues, { maxItems: MAX_DOMAINS });
  if (issues.length > 0) return issues;
  const { includeDomains } = body as SearchDto;
  const hasBoth = (value as string[]).length > 0 && Array.isArray(includeDomains) && includeDomains.length > 0;
  return hasBoth ? [customIssue('includeDomains and excludeDomains cannot be used together')] : [];
}

function enterpriseIssues(value: unknown): Issue[] {
  const asked = (Array.isArray(value) ? value : [value]) as unknown[];
  const promise = UNKEPT_PROMISES.find((name) => asked.includes(name));
  return promise === undefined ? [] : [notOffered(`enterprise ${promise}`)];
}
