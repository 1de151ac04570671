/** Compares the values that selectors read with those that a model read. Pure. */
import { isObject } from '@troupe/extraction';

const MAX_DIFFERENCES = 20;
const MAX_SHOWN_CHARS = 100;

/** `path: "what selectors gave" instead of "what the model gave"`; empty: both say the same. */
export function differences(found: unknown, wanted: unknown): string[] {
  const told: string[] = [];
  compare(found, wanted, '', told);
  return told;
}

function compare(found: unknown, wanted: unknown, path: string, told: string[]): void {
  if (told.length >= MAX_DIFFERENCES || (isNothing(found) && isNothing(wanted))) return;
  if (Array.isArray(found) && Array.isArray(wanted) && found.length === wanted.length) {
    found.forEach((item, index) => compare(item, wanted[index], `${path}[${index}]`, told));
  } else if (isObject(found) && isObject(wanted)) {
    for (const name of new Set([...Object.keys(wanted), ...Object.keys(found)]))
      compare(found[name], wanted[name], path === '' ? name : `${path}.${name}`, told);
  } else if (!isSame(found, wanted)) {
    told.push(`${path === '' ? 'the value' : path}: ${shown(found)} instead of ${shown(wanted)}`);
  }
}

/** Texts may differ in white space: a model writes it as it likes. */
function isSame(found: unknown, wanted: unknown): boolean {
  if (typeof found !== 'string' || typeof wanted !== 'string') return found === wanted;
  return found.replace(/\s+/g, ' ').trim() === wanted.replace(/\s+/g, ' ').trim();
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return (JSON.stringify(value ?? null) ?? 'null').slice(0, MAX_SHOWN_CHARS);
}

/** Paths of fields with a value: `title`, `items`, `items.name` when any of the items does. */
export function filledPaths(value: unknown, path = ''): string[] {
  if (isNothing(value)) return [];
  const own = path === '' ? [] : [path];
  if (Array.isArray(value)) return [...new Set([...own, ...value.flatMap((item) => filledPaths(item, path))])];
  if (!isObject(value)) return own;
  const inner = Object.entries(value).flatMap(([name, field]) =>
    filledPaths(field, path === '' ? name : `${path}.${name}`),
  );
  return [...own, ...inner];
}

function isNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true;
  return typeof value === 'object' && Object.values(value).every(isNothing);
}
