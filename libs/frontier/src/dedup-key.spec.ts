import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { createHash } from 'node:crypto';
import { dedupKey, fetchUrl, fingerprint, fingerprintUrl } from './dedup-key.js';
import { hostKey } from './url-parts.js';

const EXACT = { ignoreQueryParameters: false, deduplicateSimilarUrls: false };
const SIMILAR = { ignoreQueryParameters: false, deduplicateSimilarUrls: true };

describe('the identity of a page in its job', () => {
  it('is the canonical URL itself unless similar ones are merged', () => {
    for (const url of ['https://www.example.com/a/', 'http://example.com/index.html?x=1'])
      expect(dedupKey(url, EXACT)).toBe(url);
  });

  it.each([
    ['http and https', 'http://example.com/a', 'https://example.com/a'],
    ['www and apex', 'https://www.example.com/a', 'https://example.com/a'],
    ['with and without a trailing slash', 'https://example.com/a/', 'https://example.com/a'],
    ['a folder and its index.html', 'https://example.com/a/index.html', 'https://example.com/a/'],
    ['a folder and its index.htm', 'https://example.com/a/index.htm', 'https://example.com/a'],
    ['a folder and its index.php', 'https://example.com/a/index.php?b=1', 'https://example.com/a?b=1'],
    ['the root in all its spellings', 'http://www.example.com/index.html', 'https://example.com/'],
  ])('merges %s', (_, a, b) => {
    expect(dedupKey(a, SIMILAR)).toBe(dedupKey(b, SIMILAR));
    expect(dedupKey(a, EXACT)).not.toBe(dedupKey(b, EXACT));
  });

  it.each([
    ['hosts', 'https://a.example.com/', 'https://example.com/'],
    ['ports', 'https://example.com:8443/', 'https://example.com/'],
    ['queries', 'https://example.com/?a=1', 'https://example.com/?a=2'],
    ['letter case of paths', 'https://example.com/A', 'https://example.com/a'],
    ['files that only end like an index', 'https://example.com/myindex.html', 'https://example.com/'],
    ['other index files', 'https://example.com/index.aspx', 'https://example.com/'],
    ['a slash inside the query', 'https://example.com/?a=/', 'https://example.com/?a='],
    ['www as a whole name', 'https://www.com/', 'https://com/'],
  ])('tells %s apart', (_, a, b) => {
    expect(dedupKey(a, SIMILAR)).not.toBe(dedupKey(b, SIMILAR));
  });

  it('is without its query when the crawl ignores queries, and that is what is fetched', () => {
    const scope = { ...EXACT, ignoreQueryParameters: true };
    expect(fetchUrl('https://example.com/a?b=1', scope)).toBe('https://example.com/a');
    expect(fetchUrl('https://example.com/a?b=1', EXACT)).toBe('https://example.com/a?b=1');
    expect(dedupKey('https://example.com/a?b=1', scope)).toBe(dedupKey('https://example.com/a', scope));
  });

  it('keeps the route of an application, whose query is its own', () => {
    const scope = { ...EXACT, ignoreQueryParameters: true };
    expect(fetchUrl('https://example.com/a?b=1#/users?page=2', scope)).toBe('https://example.com/a#/users?page=2');
    expect(fetchUrl('https://example.com/a#/users?page=2', scope)).toBe('https://example.com/a#/users?page=2');
    expect(dedupKey('https://www.example.com/index.html#/users', SIMILAR)).toBe('example.com#/users');
  });

  it('becomes the first eight bytes of its SHA-256', () => {
    fc.assert(
      fc.property(fc.string(), (key) => {
        expect(fingerprint(key)).toBe(createHash('sha256').update(key).digest().subarray(0, 8).toString('hex'));
      }),
    );
    expect(fingerprintUrl('http://www.example.com/a/', SIMILAR)).toBe(fingerprint('example.com/a'));
  });
});

describe('the politeness key of a URL', () => {
  it.each([
    ['https://Example.com/a', 'example.com'],
    ['http://example.com:80/', 'example.com'],
    ['http://example.com:443/', 'example.com'],
    ['https://example.com:8443/x?y', 'example.com:8443'],
    ['https://www.example.com/', 'www.example.com'],
    ['https://example.com.:8443/', 'example.com:8443'],
    ['http://[::1]:8080/', '[::1]:8080'],
    ['http://[::1]/', '[::1]'],
    ['http://127.0.0.1:3000/', '127.0.0.1:3000'],
    ['http://user@example.com:8080/', 'example.com:8080'],
  ])('of %s is %s', (url, key) => expect(hostKey(url)).toBe(key));

  it('is refused for what is no http(s) URL', () => {
    expect(() => hostKey('ftp://example.com/')).toThrow(TypeError);
    expect(() => hostKey('http:///a')).toThrow(TypeError);
  });
});
