import { describe, expect, it } from '@jest/globals';
import { checkUrlTarget, isAddressAllowed, parseAllowList } from './allow-list.js';

const NONE = parseAllowList('false');
const codeOf = (run: () => unknown): unknown => {
  try {
    run();
    return 'allowed';
  } catch (error) {
    return (error as { code: unknown }).code;
  }
};
const check = (url: string, list = 'false'): unknown => codeOf(() => checkUrlTarget(url, parseAllowList(list)));

describe('the allow list', () => {
  it('opens nothing when it is false or empty', () => {
    expect(isAddressAllowed('127.0.0.1', 80, 'localhost', NONE)).toBe(false);
    expect(isAddressAllowed('10.0.0.1', 80, 'intranet', parseAllowList(''))).toBe(false);
    expect(isAddressAllowed('8.8.8.8', 80, 'dns.google', NONE)).toBe(true);
  });

  it('opens everything when it is true', () => {
    expect(isAddressAllowed('169.254.169.254', 80, 'metadata', parseAllowList('true'))).toBe(true);
  });

  it('opens an address with a port at that port only', () => {
    const list = parseAllowList('127.0.0.1:8080');
    expect(isAddressAllowed('127.0.0.1', 8080, 'a.test', list)).toBe(true);
    expect(isAddressAllowed('127.0.0.1', 8081, 'a.test', list)).toBe(false);
    expect(isAddressAllowed('127.0.0.2', 8080, 'a.test', list)).toBe(false);
    expect(isAddressAllowed('::1', 8080, 'a.test', list)).toBe(false);
  });

  it('opens a network, with or without a port', () => {
    const list = parseAllowList('10.1.0.0/16, 10.2.0.0/16:9000');
    expect(isAddressAllowed('10.1.255.1', 1, 'x', list)).toBe(true);
    expect(isAddressAllowed('10.2.0.1', 9000, 'x', list)).toBe(true);
    expect(isAddressAllowed('10.2.0.1', 9001, 'x', list)).toBe(false);
    expect(isAddressAllowed('10.3.0.1', 9000, 'x', list)).toBe(false);
  });

  it('opens a host name for itself only, whatever it resolves to', () => {
    const list = parseAllowList('intranet.example:80, wiki.example');
    expect(isAddressAllowed('10.0.0.1', 80, 'INTRANET.example.', list)).toBe(true);
    expect(isAddressAllowed('10.0.0.1', 81, 'intranet.example', list)).toBe(false);
    expect(isAddressAllowed('10.0.0.1', 80, 'evil.intranet.example', list)).toBe(false);
    expect(isAddressAllowed('10.0.0.1', 80, '10.0.0.1', list)).toBe(false);
    expect(isAddressAllowed('10.0.0.1', 4711, 'wiki.example', list)).toBe(true);
  });

  it('reads IPv6 with and without ports', () => {
    const list = parseAllowList('[::1]:8080, fd00::/8, [fe80::/10]:90');
    expect(isAddressAllowed('::1', 8080, 'x', list)).toBe(true);
    expect(isAddressAllowed('::1', 8081, 'x', list)).toBe(false);
    expect(isAddressAllowed('fd12::1', 1, 'x', list)).toBe(true);
    expect(isAddressAllowed('fe80::1%lo', 90, 'x', list)).toBe(true);
    expect(isAddressAllowed('fe80::1', 91, 'x', list)).toBe(false);
  });

  it('judges a mapped address as its IPv4 address', () => {
    expect(isAddressAllowed('::ffff:127.0.0.1', 80, 'x', parseAllowList('127.0.0.0/8'))).toBe(true);
    expect(isAddressAllowed('::ffff:127.0.0.1', 80, 'x', parseAllowList('::1'))).toBe(false);
  });

  it('does not let a tunnel address in by the address inside it', () => {
    expect(isAddressAllowed('2002:7f00:1::', 80, 'x', parseAllowList('127.0.0.1'))).toBe(false);
  });

  it('refuses entries it cannot read instead of ignoring them', () => {
    for (const entry of [
      '10.0.0.0/33',
      '10.0.0',
      '127.0.0.1:0',
      '127.0.0.1:99999',
      'a b',
      'http://x',
      '-x',
      '::1:x/8',
    ]) {
      expect([entry, codeOf(() => parseAllowList(entry))]).toEqual([entry, 'BAD_REQUEST']);
    }
  });
});

describe('the check of a URL by its text', () => {
  it('refuses a private address in every spelling', () => {
    const spellings = [
      '127.0.0.1',
      '2130706433',
      '0x7f000001',
      '0x7f.0.0.1',
      '0177.0.0.1',
      '017700000001',
      '127.1',
      '127.0.1',
      '0',
      '127.0.0.1.',
      '%31%32%37.0.0.1',
      '１２７.0.0.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[0:0:0:0:0:ffff:7f00:0001]',
      '[64:ff9b::7f00:1]',
      '169.254.169.254',
      '0xa9fea9fe',
      '10.0.0.1',
      'localhost',
      'LOCALHOST.',
      'app.localhost',
      'user:pass@127.0.0.1',
    ];
    const results = spellings.map((host) => [host, check(`http://${host}:8080/`)]);
    expect(results.filter(([, code]) => code !== 'SCRAPE_TARGET_FORBIDDEN')).toEqual([]);
  });

  it('lets names and public addresses pass, DNS comes later', () => {
    expect(check('http://example.com/')).toBe('allowed');
    expect(check('https://8.8.8.8/')).toBe('allowed');
    expect(check('https://[2606:4700::1111]/')).toBe('allowed');
  });

  it('knows the default ports', () => {
    expect(check('https://127.0.0.1/', '127.0.0.1:443')).toBe('allowed');
    expect(check('http://127.0.0.1/', '127.0.0.1:443')).toBe('SCRAPE_TARGET_FORBIDDEN');
  });

  it('opens localhost when loopback is listed', () => {
    expect(check('http://localhost:8080/', '127.0.0.1:8080')).toBe('allowed');
    expect(check('http://localhost:8080/', 'localhost:8080')).toBe('allowed');
    expect(check('http://localhost:8080/', 'localhost:8081')).toBe('SCRAPE_TARGET_FORBIDDEN');
  });

  it('refuses other schemes, also when everything is open', () => {
    for (const url of [
      'file:///etc/passwd',
      'ftp://example.com/',
      'gopher://x/',
      'data:text/html,x',
      'javascript:1',
      'chrome://version',
    ]) {
      expect([url, check(url, 'true')]).toEqual([url, 'SCRAPE_TARGET_FORBIDDEN']);
    }
  });

  it('says that a URL cannot be parsed', () => {
    expect(check('http://')).toBe('BAD_REQUEST');
  });
});
