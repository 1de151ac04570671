import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { canonicalize, MAX_URL_CHARS, whyNotCanonical } from './canonicalize.js';

/** RFC 3986 reading of a path: octets by `%XX`, and for each whether it was written as an escape of a reserved character. */
function octetsOf(text: string): string {
  return text.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => {
    const char = String.fromCharCode(parseInt(hex, 16));
    return /[A-Za-z0-9\-._~]/.test(char) ? char : `<${hex.toUpperCase()}>`;
  });
}

const segment = fc.string({
  unit: fc.constantFrom('a', 'Z', '7', '-', '~', '%7e', '%41', '%2f', '%c3%a9', 'é', ' ', '%', '+', ':'),
  maxLength: 8,
});
const urls = fc
  .tuple(
    fc.constantFrom('http', 'HTTPS', 'https'),
    fc.constantFrom('example.com', 'EXAMPLE.com', 'bücher.example', 'a.b.example.', '127.0.0.1', '[::1]'),
    fc.constantFrom('', ':80', ':443', ':8080'),
    fc.array(segment, { maxLength: 4 }),
    fc.option(segment, { nil: null }),
    fc.option(segment, { nil: null }),
  )
  .map(([scheme, host, port, path, query, hash]) => {
    const tail = `${query === null ? '' : `?${query}`}${hash === null ? '' : `#${hash}`}`;
    return `${scheme}://${host}${port}/${path.join('/')}${tail}`;
  });

describe('a canonical URL', () => {
  it.each([
    ['scheme and host in lower case', 'HTTP://EXAMPLE.COM/A', 'http://example.com/A'],
    ['an empty path as a slash', 'https://example.com', 'https://example.com/'],
    ['no fragment', 'https://example.com/a#b?c', 'https://example.com/a'],
    ['the route of an application', 'https://example.com/app#/users/7', 'https://example.com/app#/users/7'],
    ['a route in the older spelling', 'https://example.com/#!users?a=%7e', 'https://example.com/#!users?a=~'],
    ['no fragment for the start of an application', 'https://example.com/app#/', 'https://example.com/app'],
    ['no fragment for its start in the older spelling', 'https://example.com/#!/', 'https://example.com/'],
    ['white space around a route cut', ' https://example.com/#/a b \n', 'https://example.com/#/a%20b'],
    ['no credentials', 'https://user:secret@example.com/', 'https://example.com/'],
    ['no default port of http', 'http://example.com:80/', 'http://example.com/'],
    ['no default port of https', 'https://example.com:443/', 'https://example.com/'],
    ["the other scheme's port", 'http://example.com:443/', 'http://example.com:443/'],
    ['no trailing dot of the host', 'https://example.com./a', 'https://example.com/a'],
    ['dot segments resolved', 'https://example.com/a/./b/../c', 'https://example.com/a/c'],
    ['escaped dot segments resolved', 'https://example.com/a/%2e%2E/c', 'https://example.com/c'],
    ['unreserved characters decoded', 'https://example.com/%7Euser/%41%2d', 'https://example.com/~user/A-'],
    ['escapes in upper case', 'https://example.com/%c3%a9?q=%e2%82%ac', 'https://example.com/%C3%A9?q=%E2%82%AC'],
    [
      'reserved characters as they were written',
      'https://example.com/a%2Fb/c?d=%26',
      'https://example.com/a%2Fb/c?d=%26',
    ],
    ['a lone percent sign escaped', 'https://example.com/100%', 'https://example.com/100%25'],
    ['non-ASCII text escaped', 'https://example.com/é?ü', 'https://example.com/%C3%A9?%C3%BC'],
    ['a name in its ASCII form', 'https://bücher.example/', 'https://xn--bcher-kva.example/'],
    ['the query in its order', 'https://example.com/?b=2&a=1&b=1', 'https://example.com/?b=2&a=1&b=1'],
    ['a numeric address in dotted form', 'http://2130706433/', 'http://127.0.0.1/'],
    ['white space around it cut', '  https://example.com/a\n', 'https://example.com/a'],
    ['double slashes kept', 'https://example.com//a//b', 'https://example.com//a//b'],
  ])('has %s', (_, text, expected) => {
    expect(canonicalize(text)).toBe(expected);
  });

  it.each([
    ['../b?c=1#d', 'https://example.com/b?c=1'],
    ['/b', 'https://example.com/b'],
    ['//other.example/b', 'https://other.example/b'],
    ['?x', 'https://example.com/docs/page?x'],
    ['', 'https://example.com/docs/page'],
    ['#top', 'https://example.com/docs/page'],
  ])('resolves %j against its base', (text, expected) => {
    expect(canonicalize(text, 'https://example.com/docs/page')).toBe(expected);
    expect(canonicalize(text, new URL('https://example.com/docs/page'))).toBe(expected);
  });

  it.each([
    'ftp://example.com/',
    'mailto:a@example.com',
    'javascript:void(0)',
    'data:text/html,a',
    'file:///etc/passwd',
    'about:blank',
  ])('is null for %s, because of its scheme', (text) => {
    expect(canonicalize(text, 'https://example.com/')).toBeNull();
    expect(whyNotCanonical(text, 'https://example.com/')).toBe('scheme');
  });

  it.each(['', 'no base', 'http://', 'http://a b/', 'http://[::1', 'http://example.com:99999/', 'http://example..../'])(
    'is null for the unparsable %j',
    (text) => {
      expect(canonicalize(text)).toBeNull();
    },
  );

  it(`has at most ${MAX_URL_CHARS} characters, counted after its escapes were decoded and its fragment cut`, () => {
    const start = 'https://example.com/';
    const fitting = start + 'x'.repeat(MAX_URL_CHARS - start.length);
    expect(canonicalize(fitting)).toBe(fitting);
    expect(canonicalize(`${fitting}#${'y'.repeat(10_000)}`)).toBe(fitting);
    expect(canonicalize(start + '%78'.repeat(MAX_URL_CHARS - start.length))).toBe(fitting);
    expect(canonicalize(`${fitting}x`)).toBeNull();
    expect(canonicalize(`${fitting}#/x`)).toBeNull();
    expect(whyNotCanonical(`${fitting}#/x`)).toBe('too-long');
    expect(canonicalize(`${start}#/${'y'.repeat(100_000)}`)).toBeNull();
    expect(whyNotCanonical(`${fitting}x`)).toBe('too-long');
    expect(whyNotCanonical(start + 'x'.repeat(100_000))).toBe('too-long');
    expect(whyNotCanonical(`data:text/plain,${'x'.repeat(100_000)}`)).toBe('scheme');
  });

  it('stays as it is when it is made canonical again', () => {
    fc.assert(
      fc.property(fc.oneof(urls, fc.webUrl({ withFragments: true, withQueryParameters: true })), (text) => {
        const once = canonicalize(text);
        expect(once).not.toBeNull();
        expect(canonicalize(once!)).toBe(once);
      }),
      { numRuns: 500 },
    );
  });

  it('means the same resource as the WHATWG parser says, octet by octet', () => {
    fc.assert(
      fc.property(urls, (text) => {
        const expected = new URL(text);
        const actual = new URL(canonicalize(text)!);
        expect(actual.hostname).toBe(expected.hostname.replace(/\.$/, ''));
        expect([actual.protocol, actual.port]).toEqual([expected.protocol, expected.port]);
        expect(actual.hash).toMatch(/^#[/!].|^$/);
        const withEscapedPercent = (part: string) => part.replace(/%(?![0-9a-fA-F]{2})/g, '%25');
        expect(octetsOf(actual.pathname)).toBe(octetsOf(withEscapedPercent(expected.pathname)));
        expect(octetsOf(actual.search)).toBe(octetsOf(withEscapedPercent(expected.search)));
      }),
      { numRuns: 500 },
    );
  });

  it('is one string for all spellings that RFC 3986 calls equivalent', () => {
    const spellings = fc.tuple(
      fc.constantFrom('http', 'HTTP', 'Http'),
      fc.constantFrom('example.com', 'EXAMPLE.COM', 'example.com.', 'example.com:80', 'example.com:', 'u@example.com'),
      fc.constantFrom('/~a/b', '/%7Ea/b', '/%7ea/%62', '/x/../~a/./b', '/~a/c/%2e%2e/b'),
      fc.constantFrom('', '#', '#f'),
    );
    fc.assert(
      fc.property(spellings, ([scheme, host, path, hash]) => {
        expect(canonicalize(`${scheme}://${host}${path}${hash}`)).toBe('http://example.com/~a/b');
      }),
    );
  });

  it('is found for a name with Latin-1 letters as often as it is asked for', () => {
    let missed = 0;
    for (let i = 0; i < 30_000; i++) if (canonicalize('https://bücher.example/') === null) missed++;
    expect(missed).toBe(0);
  });

  it('is an answer, never an exception, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const canonical = canonicalize(text, 'https://example.com/a');
        if (canonical === null)
          expect(['scheme', 'too-long']).toContain(whyNotCanonical(text, 'https://example.com/a'));
        else expect(canonical).toMatch(/^https?:\/\/[^/]+\//);
      }),
      { numRuns: 500 },
    );
  });
});
