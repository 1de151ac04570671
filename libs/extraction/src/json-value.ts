/** Compares JSON values as facts: values that say nothing, and values that say the same. */

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value tells no fact: null, blank text, nothing at all, or a container of such. */
export function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value === 'string') return value.trim() === '';
  if (Array.isArray(value)) return value.every(isEmpty);
  return isObject(value) && Object.values(value).every(isEmpty);
}

/** Text as it counts for sameness: composed alike, spaces folded. */
export function foldSpaces(text: string): string {
  return text.normalize('NFC').replace(/\s+/gu, ' ').trim();
}

/** Equal for values that tell the same, whatever the order of keys, spaces and empty fields. */
export function valueKey(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(foldSpaces(value));
  if (Array.isArray(value)) return `[${value.map(valueKey).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const told = Object.keys(value).filter((key) => !isEmpty(value[key]));
  return `{${told
    .sort()
    .map((key) => `${JSON.stringify(key)}:${valueKey(value[key])}`)
    .join(',')}}`;
}

export function isSame(a: unknown, b: unknown): boolean {
  return isEmpty(a) ? isEmpty(b) : valueKey(a) === valueKey(b);
}
