/**
 * How large the wishes of a job may be. They travel with its start, are kept in its actor's state, and go with each of its
 * lanes and steps. A spec within these limits fits into all of them.
 */
import type { Format, ScrapeSpec } from './scrape-spec.js';
import type { AgentSpec, ExtractSpec } from './extract-spec.js';
import type { BatchSpec, CrawlSpec } from './crawl-spec.js';

export const SPEC_LIMITS = {
  /** JSON of the whole, UTF-8, as are all sizes here. */
  bytes: 512 * 1024,
  /** Patterns of one list. */
  patterns: 1_000,
  patternBytes: 200_000,
  /** Names and values, of the page's requests and of the webhook each. */
  headerBytes: 16 * 1024,
  /** All scripts of the actions together. */
  scriptBytes: 256 * 1024,
  /** JSON of one schema. */
  schemaBytes: 200_000,
} as const;

export type AnySpec = CrawlSpec | BatchSpec | ExtractSpec | AgentSpec | ScrapeSpec;

/** The part that is too large. */
export interface SpecBreach {
  /** Inside the spec, like `scrape`, `headers`; empty: the whole. */
  path: (string | number)[];
  /** Says the size that was found and the limit. */
  message: string;
  found: number;
  most: number;
}

/** Code of a job that was started with more than is allowed. */
export const SPEC_TOO_LARGE = 'SPEC_TOO_LARGE';

/** The first breach of `SPEC_LIMITS`, its parts before the whole; null: there is none. */
export function checkSpec(spec: AnySpec): SpecBreach | null {
  // A job of an older version may lack some fields.
  const scrape: Partial<ScrapeSpec> = 'scrape' in spec ? spec.scrape : spec;
  const at = 'scrape' in spec ? ['scrape'] : [];
  return (
    scopeBreach(spec) ??
    headersBreach(scrape.headers, [...at, 'headers']) ??
    headersBreach('webhook' in spec ? spec.webhook?.headers : {}, ['webhook', 'headers']) ??
    scriptsBreach(scrape, [...at, 'actions']) ??
    schemasBreach(spec, scrape, at) ??
    breach([], 'The request takes # bytes with all its options', bytesOf(spec), SPEC_LIMITS.bytes)
  );
}

/** A list of patterns that is too long; null: it is not. */
export function patternsBreach(patterns: readonly string[], path: SpecBreach['path'] = []): SpecBreach | null {
  const bytes = patterns.reduce((sum, pattern) => sum + Buffer.byteLength(pattern), 0);
  return (
    breach(path, '# patterns', patterns.length, SPEC_LIMITS.patterns) ??
    breach(path, 'The patterns take # bytes', bytes, SPEC_LIMITS.patternBytes)
  );
}

/** Headers that are too large together; null: they are not. */
export function headersBreach(headers: Record<string, unknown> = {}, path: SpecBreach['path'] = []): SpecBreach | null {
  const texts = Object.entries(headers).flat();
  const bytes = texts.reduce<number>((sum, text) => sum + (typeof text === 'string' ? Buffer.byteLength(text) : 0), 0);
  return breach(path, 'The headers take # bytes', bytes, SPEC_LIMITS.headerBytes);
}

function scopeBreach(spec: AnySpec): SpecBreach | null {
  if (!('scope' in spec)) return null;
  const { includePaths = [], excludePaths = [] } = spec.scope;
  return (
    patternsBreach(includePaths, ['scope', 'includePaths']) ?? patternsBreach(excludePaths, ['scope', 'excludePaths'])
  );
}

function scriptsBreach({ actions = [] }: Partial<ScrapeSpec>, path: SpecBreach['path']): SpecBreach | null {
  const bytes = actions.reduce(
    (sum, action) => sum + (action.type === 'executeJavascript' ? Buffer.byteLength(action.script) : 0),
    0,
  );
  return breach(path, 'The scripts take # bytes together', bytes, SPEC_LIMITS.scriptBytes);
}

function schemasBreach(spec: AnySpec, scrape: Partial<ScrapeSpec>, at: string[]): SpecBreach | null {
  const schemas: [SpecBreach['path'], unknown][] = (scrape.formats ?? []).map((format, i) => [
    [...at, 'formats', i, 'schema'],
    schemaOf(format),
  ]);
  schemas.push([[...at, 'changeTracking', 'schema'], scrape.changeTracking?.json?.schema]);
  if ('schema' in spec) schemas.push([['schema'], spec.schema]);
  for (const [path, schema] of schemas) {
    if (schema === null || schema === undefined) continue;
    const found = breach(path, 'The schema takes # bytes', bytesOf(schema), SPEC_LIMITS.schemaBytes);
    if (found !== null) return found;
  }
  return null;
}

function schemaOf(format: Format): unknown {
  return format.type === 'json' ? format.schema : null;
}

function breach(path: SpecBreach['path'], text: string, found: number, most: number): SpecBreach | null {
  if (found <= most) return null;
  return { path, message: `${text.replace('#', String(found))}, at most ${most} are allowed`, found, most };
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
