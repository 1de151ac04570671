/** The JSON value in a model's reply: bare, in a fence, or somewhere in its prose. */

const THOUGHT = /^\s*<think(?:ing)?>[\s\S]*?<\/think(?:ing)?>/i;
const FENCE = /```(?:json|JSON)?\s*\n?([\s\S]*?)```/g;
/** Places in prose where a value may begin that are tried. */
const MAX_STARTS = 20;
const MAX_CHARS = 4_000_000;

/** undefined: there is none. */
export function readJson(said: string): unknown {
  const text = said.slice(0, MAX_CHARS).replace(THOUGHT, '').trim();
  const whole = parse(text);
  if (whole !== undefined) return whole;
  for (const [, fenced] of text.matchAll(FENCE)) {
    const value = parse(fenced!.trim());
    if (value !== undefined) return value;
  }
  return inProse(text);
}

function inProse(text: string): unknown {
  let from = 0;
  for (let tries = 0; tries < MAX_STARTS; tries++) {
    const start = text.slice(from).search(/[{[]/);
    if (start === -1) return undefined;
    const end = endOfValue(text, from + start);
    const value = end === -1 ? undefined : parse(text.slice(from + start, end));
    if (value !== undefined) return value;
    from += start + 1;
  }
  return undefined;
}

/** Behind the bracket that closes the one at `start`; -1: none does. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let isQuoted = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (isQuoted) {
      if (char === '\\') at++;
      else if (char === '"') isQuoted = false;
    } else if (char === '"') isQuoted = true;
    else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') {
      if (--depth === 0) return at + 1;
    }
  }
  return -1;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
