import { convertPage, type FitSchema, type LinkRules } from '@troupe/content';
import {
  canonicalize,
  compileScope,
  fetchUrl,
  fingerprint,
  fingerprintUrl,
  whyNotCanonical,
  type CompiledScope,
} from '@troupe/frontier';
import { LRUCache } from 'lru-cache';
import type { ConvertRequest, ConvertResult, Ocr, ScopeSpec } from '@troupe/contracts';
import { packDocument } from '@troupe/packing';
import { convertFile } from './convert-file.js';
import { kindOfFile } from './file-kind.js';

/** Crawls whose compiled scopes a thread remembers: about as many as share a fetcher at one time. */
const MAX_SCOPES = 64;

const scopes = new LRUCache<string, CompiledScope>({ max: MAX_SCOPES });

function compileScopeOnce(scope: ScopeSpec): CompiledScope {
  const key = JSON.stringify(scope);
  const known = scopes.get(key);
  if (known !== undefined) return known;
  const compiled = compileScope(scope);
  scopes.set(key, compiled);
  return compiled;
}

const RULES: LinkRules = {
  canonicalize,
  whyNotCanonical,
  fetchUrl,
  fingerprint,
  fingerprintUrl,
  compileScope: (scope) => compileScopeOnce(scope).ofPage(() => performance.now()),
};

function needsSchemas({ spec }: ConvertRequest): boolean {
  return spec.formats.some((format) => format.type === 'json' && format.selectors !== null && format.schema !== null);
}

/** Loaded when first needed: a validator is of no use to most pages. */
async function schemaFitter(): Promise<FitSchema> {
  const { compileSchema, normalise } = await import('@troupe/json-schema');
  return (schema, given) => {
    const { value, notes } = normalise(schema, given);
    const problems = compileSchema(schema).problemsOf(value);
    return {
      value,
      warnings: [
        ...(notes.length === 0 ? [] : [`Values were adapted to the schema: ${notes.join('; ')}.`]),
        ...(problems.length === 0 ? [] : [`The values do not satisfy the schema: ${problems.join('; ')}.`]),
      ],
    };
  };
}

/**
 * `convertPage` with the frontier's rules and the document encoded as asked; a file is read first. Busy for as long as a
 * page takes.
 */
export async function convertInThread(request: ConvertRequest, ocr: Ocr | null): Promise<ConvertResult> {
  const kind = kindOfFile(request);
  const rules = needsSchemas(request) ? { ...RULES, fitSchema: await schemaFitter() } : RULES;
  const result = kind === null ? convertPage(request, rules) : await convertFile(request, kind, { rules, ocr });
  if (request.encoding === 'json') return result;
  return { ...result, document: packDocument(result.document) };
}
