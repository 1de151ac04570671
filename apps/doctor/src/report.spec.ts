import { describe, expect, it } from '@jest/globals';
import { EXIT_CODES, failure, fine, reasonOf, skipped, warning, worstOf } from './finding.js';
import { asJson, asTable } from './report.js';

const findings = [fine('nats', 'there'), skipped('dns', 'none'), warning('disk', 'small', 'make room')];

describe('a report', () => {
  it('puts the advice below what it is about', () => {
    expect(asTable(findings, false)).toBe(
      [
        'ok    nats  there',
        '-     dns   none',
        'warn  disk  small',
        '            -> make room',
        '',
        'It works; what is marked with "warn" should be looked at.',
        '',
      ].join('\n'),
    );
  });

  it('has colours for a terminal only', () => {
    expect(asTable(findings, true)).toContain('\x1b[33mwarn\x1b[0m');
  });

  it('is as bad as its worst finding', () => {
    expect(worstOf([])).toBe('ok');
    expect(worstOf(findings)).toBe('warning');
    expect(worstOf([...findings, failure('a', 'b', 'c'), fine('d', 'e')])).toBe('failure');
    expect(JSON.parse(asJson(findings))).toMatchObject({ status: 'warning', findings: [{ about: 'nats' }, {}, {}] });
    expect(EXIT_CODES).toEqual({ ok: 0, skipped: 0, warning: 5, failure: 6 });
  });

  it('gives the reason of a failure in one line', () => {
    expect(reasonOf(new Error('first\nsecond'))).toBe('first');
    expect(reasonOf(new AggregateError([new Error('a'), new Error('b')], ''))).toBe('a; b');
    expect(reasonOf('text')).toBe('text');
  });
});
