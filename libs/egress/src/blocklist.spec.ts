import { describe, expect, it } from '@jest/globals';
import { checkUrlTarget, parseAllowList, Resolver } from './index.js';
import { blockEntry, isBlockedHost } from './blocklist.js';

describe('blockEntry', () => {
  it.each([
    ['Example.COM.', 'example.com'],
    ['https://www.example.com:8443/path', 'www.example.com'],
    ['example.com:8080', 'example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['0x7f.1', '127.0.0.1'],
    ['[2001:DB8::1]', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
  ])('reads %j as %j', (text, host) => {
    expect(blockEntry(text)).toBe(host);
  });

  it.each(['', ' ', '*.example.com', 'a b', 'http://', 'user@example.com', 'exa%mple'])('refuses %j', (text) => {
    expect(blockEntry(text)).toBeNull();
  });
});

describe('isBlockedHost', () => {
  const blocked = new Set(['bad.example', '10.0.0.1', '2001:db8::1']);

  it.each(['bad.example', 'BAD.example.', 'deep.www.bad.example', '10.0.0.1', '[2001:db8::1]'])('blocks %s', (host) => {
    expect(isBlockedHost(host, blocked)).toBe(true);
  });

  it.each(['notbad.example', 'bad.example.org', 'example', '110.0.0.1'])('lets %s pass', (host) => {
    expect(isBlockedHost(host, blocked)).toBe(false);
  });
});

describe('a target on the blocklist', () => {
  const allow = {
    ...parseAllowList('true'),
    isBlocked: (host: string) => isBlockedHost(host, new Set(['bad.example'])),
  };

  it('is refused by its URL, before anything is resolved', () => {
    expect(() => checkUrlTarget('http://www.bad.example/x', allow)).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED_SITE', httpStatus: 403 }),
    );
  });

  it('gets no connection either', async () => {
    const resolver = new Resolver({ servers: ['127.0.0.1:1'], allow });
    await expect(resolver.resolve('bad.example', 443)).rejects.toMatchObject({ code: 'UNSUPPORTED_SITE' });
  });
});
