import { RE2JS } from 're2js';

interface Pattern {
  test(text: string): boolean;
}

const EVERYTHING: Pattern = { test: () => true };

/**
 * The engine for `pattern` and `patternProperties`: linear in the text, for any pattern. Parts that only a backtracking
 * engine can decide (look-around, back-references, as libraries write them for e-mail addresses) are not enforced.
 * @throws SyntaxError when it is no pattern in either language
 */
export function compilePattern(pattern: string, flags: string): Pattern {
  const test = testOf(pattern, flags).test;
  // The compiler tells patterns apart by their text.
  return Object.assign({ test }, { toString: () => `/${pattern}/${flags}` });
}
compilePattern.code = 'linearPattern';

function testOf(pattern: string, flags: string): Pattern {
  try {
    const compiled = RE2JS.compile(pattern);
    return { test: (text) => compiled.matcher(text).find() };
  } catch {
    void new RegExp(pattern, flags);
    return EVERYTHING;
  }
}
