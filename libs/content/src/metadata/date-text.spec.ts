import { describe, expect, it } from '@jest/globals';
import { findDay, isMonthFirst, isoDay } from './date-text.js';

const dayIn = (text: string, language: string | null = 'de'): string | undefined =>
  findDay(text, isMonthFirst(language))?.day;

describe('a day in a text', () => {
  it.each([
    'Published on March 5, 2024 at noon',
    'Mar 5th, 2024',
    '5 March 2024',
    '5. März 2024',
    'am 5. Mrz. 2024, 10 Uhr',
    'le 5 mars 2024',
    '5 de marzo de 2024',
    '5 de março de 2024',
    '5 marzo 2024',
    '5 maart 2024',
    '5 marca 2024',
    '5. března 2024',
    '5 mars 2024 kl. 10',
    '5 Mart 2024 Salı',
    '5 марта 2024 г.',
    '2024年3月5日 公開',
    '05.03.2024',
    '5.3.24',
    '05/03/2024',
    '2024-03-05T10:00:00Z',
    '2024/3/5',
    'Stand: 20240305',
  ])('is found in "%s"', (text) => {
    expect(dayIn(text)).toBe('2024-03-05');
  });

  it('with slashes has its month first where the language does so, unless that is no month', () => {
    expect(dayIn('03/05/2024', 'en-US')).toBe('2024-03-05');
    expect(dayIn('03/05/2024', 'en-GB')).toBe('2024-05-03');
    expect(dayIn('25/03/2024', 'en-US')).toBe('2024-03-25');
  });

  it('with dots has its day first in every language, unless that is no month', () => {
    for (const language of ['en-US', 'en-GB', 'de', null]) {
      expect(dayIn('03.05.2024', language)).toBe('2024-05-03');
      expect(dayIn('03.25.2024', language)).toBe('2024-03-25');
    }
  });

  it.each([
    'March 2024',
    '31.02.2024',
    'Version 1.2.3',
    '192.168.10.20',
    'call 555-12-3456',
    '12.12',
    '5 marbles 2024',
    'May 2024',
    '5 May 4',
  ])('is not found in "%s"', (text) => {
    expect(dayIn(text)).toBeUndefined();
  });

  it('of a machine is read from its first characters only', () => {
    expect(isoDay('2024-03-05T23:00:00-05:00')).toBe('2024-03-05');
    expect(isoDay('20240305T100000')).toBe('2024-03-05');
    expect(isoDay('on 2024-03-05')).toBeNull();
  });
});
