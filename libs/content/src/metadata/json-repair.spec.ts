import { describe, expect, it } from '@jest/globals';
import { parseLooseJson } from './json-repair.js';

describe('loose JSON', () => {
  it.each([
    ['as it should be', '{"a":[1,"b"]}'],
    ['with trailing commas', '{"a":[1,"b",],}'],
    ['with comments', '/* x */ {"a": // y\n [1,/* z */"b"]}'],
    ['in an HTML comment', '<!-- {"a":[1,"b"]} -->'],
    ['in a CDATA section', '//<![CDATA[\n{"a":[1,"b"]}\n//]]>'.replace('[CDATA[', 'CDATA')],
    ['followed by more', '{"a":[1,"b"]};{"c":2}'],
    ['cut off', '{"a":[1,"b"'],
  ])('%s is read', (_name, text) => {
    expect(parseLooseJson(text)).toEqual({ a: [1, 'b'] });
  });

  it('keeps line breaks and quotes that should have been escaped', () => {
    expect(parseLooseJson('{"a":"x\ny","b":"the "best" one"}')).toEqual({ a: 'x y', b: 'the "best" one' });
  });

  it.each([
    ['the first half alone', String.raw`"a\ud83e b"`, 'a\ufffd b'],
    ['the second half alone', String.raw`"a\uDD14"`, 'a\ufffd'],
    ['two first halves', String.raw`"\ud83e\ud83e\udd14"`, '\ufffd🤔'],
    ['a whole pair', String.raw`"\ud83e\udd14"`, '🤔'],
    ['an escaped backslash', String.raw`"\\ud83e"`, String.raw`\ud83e`],
    ['one behind an escaped backslash', String.raw`"\\\ud83e"`, '\\\ufffd'],
    ['one in a text to be repaired', String.raw`"a\ud83e",`, 'a\ufffd'],
  ])('holds no half of a surrogate pair: %s', (_name, text, value) => {
    expect(parseLooseJson(`{"a":${text}}`)).toEqual({ a: value });
  });

  it.each(['', 'var x;', '{]', '<html>'])('is undefined or empty for "%s"', (text) => {
    expect(parseLooseJson(text) ?? {}).toEqual({});
  });

  it('takes time in proportion to the text', () => {
    const start = performance.now();
    parseLooseJson(`{"a":"${' "'.repeat(200_000)}`);
    parseLooseJson('['.repeat(200_000));
    parseLooseJson(`{"a":"b"${' '.repeat(200_000)}`);
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});
