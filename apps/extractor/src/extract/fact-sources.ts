/** Finds the source pages of a value that was not merged by field: those that have the same fact anywhere. */
import { isEmpty, type SourcedValue } from '@troupe/extraction';

const PLAIN_KEY = /^[\p{L}_$][\p{L}\p{N}_$-]*$/u;
const MAX_DEPTH = 32;

/** Field path -> URLs, for every single fact that some page tells. */
export function sourcesOf(value: unknown, told: readonly SourcedValue[]): Record<string, string[]> {
  const tellers = tellersOf(told);
  const sources: [string, string[]][] = [];
  visit(value, '', (path, fact) => {
    const urls = tellers.get(keyOf(fact));
    if (urls !== undefined) sources.push([path, [...urls]]);
  });
  return Object.fromEntries(sources);
}

function tellersOf(told: readonly SourcedValue[]): Map<string, Set<string>> {
  const tellers = new Map<string, Set<string>>();
  for (const { value, source } of told) {
    visit(value, '', (_, fact) => {
      const urls = tellers.get(keyOf(fact)) ?? new Set<string>();
      tellers.set(keyOf(fact), urls.add(source));
    });
  }
  return tellers;
}

function visit(value: unknown, path: string, onFact: (path: string, fact: unknown) => void, depth = 0): void {
  if (isEmpty(value) || depth > MAX_DEPTH) return;
  if (Array.isArray(value)) return value.forEach((item, i) => visit(item, `${path}[${i}]`, onFact, depth + 1));
  if (typeof value !== 'object') return onFact(path, value);
  for (const [name, inner] of Object.entries(value!)) visit(inner, fieldPath(path, name), onFact, depth + 1);
}

function fieldPath(path: string, name: string): string {
  if (!PLAIN_KEY.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}

function keyOf(fact: unknown): string {
  return typeof fact === 'string' ? JSON.stringify(fact.normalize('NFC').replace(/\s+/gu, ' ').trim()) : String(fact);
}
