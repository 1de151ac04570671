import { describe, expect, it } from '@jest/globals';
import { ConfigError, readConfig } from './read-config.js';

const NEEDED = { DATABASE_URL: 'postgresql://127.0.0.1/x', NATS_URL: 'nats://127.0.0.1:4222' };

function problemsOf(env: Record<string, string>): string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('readConfig', () => {
  it('fills in defaults and freezes the result', () => {
    const config = readConfig(NEEDED);
    expect(config.port).toBe(3002);
    expect(config.hostGapMs).toBe(100);
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('turns text into numbers, booleans and lists', () => {
    const config = readConfig({ ...NEEDED, PORT: '0', BILLING: 'on', TROUPE_BOOTSTRAP_KEYS: 'a:1, b:2' });
    expect(config).toMatchObject({ port: 0, billing: true, troupeBootstrapKeys: ['a:1', 'b:2'] });
  });

  it('takes an empty value as absent', () => {
    expect(readConfig({ ...NEEDED, PORT: '', LOG_FORMAT: '' })).toMatchObject({ port: 3002 });
  });

  it('names every bad key at once', () => {
    const problems = problemsOf({
      ...NEEDED,
      PORT: 'many',
      HOST_MAX_CONN: '0',
      PUBLIC_BASE_URL: 'nope',
      BILLING: 'perhaps',
    });
    expect(problems.map((problem) => problem.split(':')[0]).sort()).toEqual([
      'BILLING',
      'HOST_MAX_CONN',
      'PORT',
      'PUBLIC_BASE_URL',
    ]);
  });

  it('names the addresses of Postgres and NATS when they are missing', () => {
    expect(problemsOf({}).join()).toMatch(/DATABASE_URL.*NATS_URL/s);
  });

  it('refuses an open gateway beyond loopback unless told twice', () => {
    const open = { ...NEEDED, AUTH_MODE: 'none', HOST: '0.0.0.0' };
    expect(problemsOf(open).join()).toContain('AUTH_MODE');
    expect(problemsOf({ ...open, AUTH_NONE_I_KNOW: 'true' })).toEqual([]);
    expect(problemsOf({ ...NEEDED, AUTH_MODE: 'none' })).toEqual([]);
  });

  it('knows the names of Firecrawl’s settings, and prefers its own', () => {
    const alias = { ...NEEDED, SEARXNG_ENDPOINT: 'http://10.0.0.1:8080' };
    expect(readConfig(alias).searxngUrl).toBe('http://10.0.0.1:8080');
    expect(readConfig({ ...alias, SEARXNG_URL: 'http://own:8080/' }).searxngUrl).toBe('http://own:8080/');
  });

  it('reads lists of proxies, and the single proxy of Firecrawl’s settings', () => {
    const proxies = { PROXY_BASIC: 'http://a:1, socks5://u:p%40@b', PROXY_STEALTH: 'https://u:p@c:8443' };
    expect(readConfig({ ...NEEDED, ...proxies })).toMatchObject({
      proxyBasic: ['http://a:1', 'socks5://u:p%40@b'],
      proxyStealth: ['https://u:p@c:8443'],
    });
    const alias = { ...NEEDED, PROXY_SERVER: 'proxy.example:3128', PROXY_USERNAME: 'me', PROXY_PASSWORD: 'a/b' };
    expect(readConfig(alias).proxyBasic).toEqual(['http://me:a%2Fb@proxy.example:3128']);
    expect(readConfig({ ...alias, PROXY_BASIC: 'http://own:1' }).proxyBasic).toEqual(['http://own:1']);
  });

  it('refuses what is no proxy, without repeating it', () => {
    for (const bad of ['ftp://a:1', 'a:1', 'http://u:secret@a:1/path', 'http://', 'http://a:99999x']) {
      const problems = problemsOf({ ...NEEDED, PROXY_STEALTH: `http://fine:1,${bad}` });
      expect([bad, problems.length]).toEqual([bad, 1]);
      expect(problems.join()).toMatch(/^PROXY_STEALTH: /);
      expect(problems.join()).not.toContain('secret');
    }
  });

  it('refuses half a certificate, and two sets of credentials', () => {
    expect(problemsOf({ ...NEEDED, NATS_TLS_CERT_FILE: '/c.pem' }).join()).toContain('NATS_TLS_KEY_FILE');
    const both = { ...NEEDED, NATS_CREDS_FILE: '/a.creds', NATS_NKEY_FILE: '/a.nk' };
    expect(problemsOf(both).join()).toContain('NATS_NKEY_FILE');
    expect(problemsOf({ ...NEEDED, NATS_REPLICAS: '2' }).join()).toContain('NATS_REPLICAS');
  });

  it('refuses a search provider without an address', () => {
    expect(problemsOf({ ...NEEDED, SEARCH_PROVIDER: 'searxng' }).join()).toContain('SEARXNG_URL');
    expect(problemsOf({ ...NEEDED, SEARCH_PROVIDER: 'bing' }).join()).toContain('SEARCH_PROVIDER');
  });
});
