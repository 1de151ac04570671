/** Crawl options as a model proposes them, judged by the rules of the crawls themselves. */
import type { CrawlWishes, JsonSchema } from '@troupe/contracts';
import { checkPattern } from '@troupe/frontier';

const MAX_PATTERNS = 50;
const MAX_LIMIT = 1_000_000_000;
const MAX_DELAY_S = 60;

const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] });
const patterns = orNull({ type: 'array', items: { type: 'string' }, maxItems: MAX_PATTERNS });
const flag = orNull({ type: 'boolean' });
const count = (minimum: number, maximum: number): JsonSchema => orNull({ type: 'integer', minimum, maximum });

const PROPERTIES = {
  includePaths: patterns,
  excludePaths: patterns,
  maxDiscoveryDepth: count(0, MAX_LIMIT),
  crawlEntireDomain: flag,
  allowExternalLinks: flag,
  allowSubdomains: flag,
  sitemap: orNull({ type: 'string', enum: ['include', 'skip', 'only'] }),
  ignoreQueryParameters: flag,
  deduplicateSimilarURLs: flag,
  delay: count(0, MAX_DELAY_S),
  limit: count(1, MAX_LIMIT),
} satisfies Record<keyof CrawlWishes, JsonSchema>;

export const WISHES_SCHEMA: JsonSchema = {
  type: 'object',
  properties: PROPERTIES,
  required: Object.keys(PROPERTIES),
  additionalProperties: false,
};

export type JudgedWishes = { wishes: CrawlWishes; problem: null } | { wishes: null; problem: string };

/** Options that crawls can take, or their problems in words from which a model can correct them. */
export function judgeWishes(value: unknown, startUrl: string): JudgedWishes {
  const told = Object.entries(value as Record<string, unknown>).filter(([name, wish]) => isTold(name, wish));
  const wishes = Object.fromEntries(
    told.map(([name, wish]) => [name, Array.isArray(wish) ? pathPatterns(wish as string[], startUrl) : wish]),
  ) as CrawlWishes;
  const problems = [...problemsOf('includePaths', wishes), ...problemsOf('excludePaths', wishes)];
  if (problems.length > 0) return { wishes: null, problem: problems.join('\n') };
  return { wishes, problem: null };
}

function isTold(name: string, wish: unknown): boolean {
  if (!(name in PROPERTIES) || wish === null || wish === undefined) return false;
  if (name === 'delay') return wish !== 0;
  return !Array.isArray(wish) || wish.length > 0;
}

function problemsOf(field: 'includePaths' | 'excludePaths', wishes: CrawlWishes): string[] {
  return (wishes[field] ?? []).flatMap((pattern, index) => {
    const problem = checkPattern(pattern);
    return problem === null ? [] : [`${field}[${index}] (${JSON.stringify(pattern)}): ${problem}`];
  });
}

/** Patterns are searched in the path, slash included: addresses and paths without their slash would never be found. */
function pathPatterns(given: readonly string[], startUrl: string): string[] {
  const { origin } = new URL(startUrl);
  const written = [origin, origin.replaceAll('.', '\\.'), origin.replaceAll('/', '\\/').replaceAll('.', '\\.')];
  const paths = given.map((pattern) => {
    const bare = pattern.trim().replace(/^\^/, '');
    const start = written.find((text) => bare.startsWith(text));
    if (start !== undefined) return `^${bare.slice(start.length) || '/'}`;
    return /^\^\w/.test(pattern.trim()) ? `^/${bare}` : pattern.trim();
  });
  return [...new Set(paths)].filter((pattern) => pattern !== '');
}
