import { describe, expect, it } from '@jest/globals';
import { readBody } from '../validation/read-body.js';
import { HostSettingDto, readHost, readPattern, readStates } from './hosts.dto.js';

describe('the name of a host in a path', () => {
  it.each([
    ['example.com', 'example.com'],
    ['EXAMPLE.com:80', 'example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['127.0.0.1:8080', '127.0.0.1:8080'],
    ['[::1]:8080', '[::1]:8080'],
    ['*.Example.com', '*.example.com'],
  ])('%s means %s', (text, pattern) => expect(readPattern(text)).toBe(pattern));

  it.each(['', '*', '*.', '*.*.com', 'a b', 'http://a', 'a/b', 'user@a', 'a:99999', 'a?b', 'ex%61mple.com'])(
    '%s is none',
    (text) => expect(() => readPattern(text)).toThrow(),
  );

  it('of a single host is no pattern', () => expect(() => readHost('*.example.com')).toThrow());
});

describe('states in a query', () => {
  it('are all but open without one', () => expect(readStates(undefined)).toEqual(['slowed', 'paused', 'down', 'held']));
  it('may be several', () => expect(readStates('down,open')).toEqual(['down', 'open']));
  it('must be known', () => expect(() => readStates('down,asleep')).toThrow());
});

describe('a setting of a host', () => {
  const problemOf = (body: object): string | null => {
    try {
      readBody(HostSettingDto, body);
      return null;
    } catch (error) {
      return JSON.stringify((error as { details: unknown }).details);
    }
  };

  it('takes every value in its bounds', () => {
    const whole = {
      maxConn: 1,
      gapMs: 0,
      maxRate: 0.5,
      expressConn: 2,
      crawlDelay: 2.5,
      giveUpMin: 10,
      hold: true,
      note: 'as agreed',
    };
    expect(problemOf(whole)).toBeNull();
    expect(problemOf({ crawlDelay: 'obey' })).toBeNull();
  });

  it.each([
    { maxConn: 0 },
    { maxConn: 1.5 },
    { gapMs: -1 },
    { maxRate: 0 },
    { maxRate: '2' },
    { crawlDelay: 'never' },
    { crawlDelay: 3_601 },
    { giveUpMin: 0 },
    { hold: 'yes' },
    { note: 'x'.repeat(501) },
    { maxRates: 2 },
  ])('refuses %j and names the field', (body) => expect(problemOf(body)).toContain(Object.keys(body)[0]!));
});
