import { describe, expect, it } from '@jest/globals';
import { booleanIn, dateIn, hasDecimalComma, integerIn, numberIn } from './values.js';

describe('numbers of a page', () => {
  it.each([
    ['1.299,00 €', 1299],
    ['$1,299.00', 1299],
    ['1 299,50', 1299.5],
    ['1\u202f299\u00a0€', 1299],
    ["CHF 1'299.50", 1299.5],
    ['1,299', 1299],
    ['1.299', 1.299],
    ['1,29', 1.29],
    ['1.234.567', 1234567],
    ['1,234,567.8', 1234567.8],
    ['0,125 l', 0.125],
    ['.5', 0.5],
    ['−3 °C', -3],
    ['(-12)', -12],
    ['UTF-8', 8],
    ['12 %', 12],
    ['2.5e3', 2500],
    ['3 of 5', 3],
    ['١٢٫٥', 12.5],
    ['42.', 42],
    ['page 2, 3', 2],
  ])('%s is read as %s', (text, value) => {
    expect(numberIn(text, false)).toBe(value);
  });

  it.each([
    ['1.299', 1299],
    ['1,299', 1.299],
    ['0.125', 0.125],
    ['1.299.000', 1299000],
    ['1,299.00', 1299],
  ])('%s is read as %s where the comma stands before the fraction', (text, value) => {
    expect(numberIn(text, true)).toBe(value);
  });

  it.each(['', 'none', '1.2.3', '04.03.2020', '12,34,5.6'])('%s is no number', (text) => {
    expect(numberIn(text, false)).toBeNull();
  });

  it('a fraction is not rounded to an integer', () => {
    expect(integerIn('4.5', false)).toBeNull();
    expect(integerIn('4.0 stars', false)).toBe(4);
  });

  it('the decimal comma belongs to the language, but not to Swiss German', () => {
    expect([hasDecimalComma('de'), hasDecimalComma('de_CH'), hasDecimalComma('en-GB'), hasDecimalComma(null)]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('days and truths of a page', () => {
  it.each([
    ['2020-03-04', '2020-03-04'],
    ['2020-03-04T10:00:00Z', '2020-03-04T10:00:00Z'],
    ['2020-03-04 10:00+0200', '2020-03-04T10:00:00+02:00'],
    ['Wed, 4 Mar 2020 10:00:00 GMT', '2020-03-04T10:00:00Z'],
    ['March 4, 2020', '2020-03-04'],
    ['4. März 2020', '2020-03-04'],
    ['Released on 4 May 1969', '1969-05-04'],
    ['3/4/2020', '2020-03-04'],
  ])('%s is %s', (text, value) => {
    expect(dateIn(text, true)).toBe(value);
  });

  it('the day comes first where the language says so', () => {
    expect(dateIn('3/4/2020', false)).toBe('2020-04-03');
  });

  it.each(['yesterday', '2020-02-30', 'version 1.2.3'])('%s is no day', (text) => {
    expect(dateIn(text, true)).toBeNull();
  });

  it('only words that say yes or no are truths', () => {
    expect(['Yes', '✓', 'false', '0', 'in stock'].map(booleanIn)).toEqual([true, true, false, false, null]);
  });
});
