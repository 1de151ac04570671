import { describe, expect, test } from '@jest/globals';
import { joinAccent } from './accents.js';
import type { Span } from './span.js';

const PLAIN = { baseline: 100, size: 12, isBold: false, isItalic: false, isMono: false, isRtl: false };
const REST = { href: null, tag: null, isArtifact: false };

function spanOf(text: string, x0: number, x1: number, more: Partial<Span> = {}): Span {
  return { ...PLAIN, ...REST, text, x0, x1, ...more };
}

/** Reads an accent at the end of one span and the next, which begins where the accent does. */
function read(before: string, after: string, more: Partial<Span> = {}): string[] | null {
  const joined = joinAccent(spanOf(before, 10, 50), spanOf(after, 44, 80, more));
  if (joined === null) return null;
  return [...(joined.before === null ? [] : [joined.before.text]), joined.span.text];
}

describe('an accent over the letter that follows it', () => {
  test.each([
    ['Br\u00a8', 'oker', ['Br', 'öker']],
    ['P\u00b4', 'eter', ['P', 'éter']],
    ['er\u02c6', 'ome', ['er', 'ôme']],
    ['Mikul\u00b4', '\u0131k', ['Mikul', 'ík']],
    ['gar\u00b8', 'con', ['gar', 'çon']],
    ['Dvo\u02c7', 'r\u00e1k', ['Dvo', 'řák']],
    ['voil`', 'a', ['voil', 'à']],
    ['Espa\u02dc', 'na', ['Espa', 'ña']],
    ['\u00b4', 'Etude', ['Étude']],
    ['une \u00b4', 'etude', ['une ', 'étude']],
  ])('%j and %j read %j', (before, after, expected) => {
    expect(read(before, after)).toEqual(expected);
  });

  test('is raised over capitals', () => {
    expect(read('\u00b4', 'Etude', { baseline: 102.6 })).toEqual(['Étude']);
    expect(read('\u00b4', 'Etude', { baseline: 114 })).toBeNull();
  });

  test('leaves no room between the letters', () => {
    const joined = joinAccent(spanOf('Br\u00a8', 10, 50), spanOf('oker', 44, 80));
    expect(joined?.before?.x1).toBe(44);
  });

  test.each([
    ['a word that is set close', spanOf('AV', 10, 50), spanOf('oker', 49, 80)],
    ['an accent that stands apart', spanOf('x\u00b4', 10, 50), spanOf('oker', 50, 80)],
    ['an accent far behind', spanOf('x\u00b4', 10, 50), spanOf('oker', 20, 80)],
    ['a sign that is no letter', spanOf('x^', 10, 50), spanOf('2', 44, 80)],
    ['a letter that has no such accent', spanOf('x\u00b8', 10, 50), spanOf('q', 44, 80)],
    ['another direction', spanOf('x\u00b4', 10, 50, { isRtl: true }), spanOf('e', 44, 80, { isRtl: true })],
  ])('is not seen in %s', (_, before, after) => {
    expect(joinAccent(before, after)).toBeNull();
  });
});
