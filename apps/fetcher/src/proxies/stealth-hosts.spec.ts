import { describe, expect, it } from '@jest/globals';
import { StealthHosts } from './stealth-hosts.js';

const [TEAM, OTHER] = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b'];

describe('what is known of hosts that turn basic requests away', () => {
  it('is kept per team and host', () => {
    const hosts = new StealthHosts();
    hosts.learn(TEAM, 'https://shop.test/1', 'stealth');
    expect(hosts.first(TEAM, 'https://shop.test/2')).toBe('stealth');
    expect(hosts.first(OTHER, 'https://shop.test/2')).toBe('basic');
    expect(hosts.first(TEAM, 'https://www.shop.test/2')).toBe('basic');
  });

  it('is forgotten when basic helps where stealth failed, and after a while', async () => {
    const hosts = new StealthHosts(20);
    hosts.learn(TEAM, 'https://a.test/', 'stealth');
    hosts.learn(TEAM, 'https://a.test/', 'basic');
    expect(hosts.first(TEAM, 'https://a.test/')).toBe('basic');
    hosts.learn(TEAM, 'https://b.test/', 'stealth');
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(hosts.first(TEAM, 'https://b.test/')).toBe('basic');
  });

  it('gives a host up after three pages in a row that neither class could get', () => {
    const hosts = new StealthHosts();
    const hopeless = [1, 2, 3].map(() => {
      hosts.learn(TEAM, 'https://a.test/', null);
      return hosts.isHopeless(TEAM, 'https://a.test/');
    });
    expect(hopeless).toEqual([false, false, true]);
    hosts.learn(TEAM, 'https://a.test/', 'stealth');
    expect(hosts.isHopeless(TEAM, 'https://a.test/')).toBe(false);
  });
});
