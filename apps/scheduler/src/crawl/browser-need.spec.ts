import { describe, expect, it } from '@jest/globals';
import { BrowserNeed } from './browser-need.js';
import { SCRAPE } from './job-run.fixture.js';

describe('the need for a browser', () => {
  it('is certain of a host after three pages in a row, and of no other host', () => {
    const need = new BrowserNeed();
    need.handedBack('a', SCRAPE);
    need.handedBack('a', SCRAPE);
    expect(need.isOfWholeHost('a', SCRAPE)).toBe(false);
    need.handedBack('a', SCRAPE);
    expect(need.isOfWholeHost('a', SCRAPE)).toBe(true);
    expect(need.isOfWholeHost('b', SCRAPE)).toBe(false);
  });

  it('begins anew with a page that was read without one', () => {
    const need = new BrowserNeed();
    for (let i = 0; i < 3; i++) need.handedBack('a', SCRAPE);
    need.sufficed('a', SCRAPE);
    expect(need.isOfWholeHost('a', SCRAPE)).toBe(false);
    need.handedBack('a', SCRAPE);
    need.handedBack('a', SCRAPE);
    expect(need.isOfWholeHost('a', SCRAPE)).toBe(false);
  });

  it('is certain after twelve in a row only of a host that has shown a page without one', () => {
    const need = new BrowserNeed();
    need.sufficed('a', SCRAPE);
    for (let i = 0; i < 11; i++) need.handedBack('a', SCRAPE);
    expect(need.isOfWholeHost('a', SCRAPE)).toBe(false);
    need.handedBack('a', SCRAPE);
    expect(need.isOfWholeHost('a', SCRAPE)).toBe(true);
  });

  it.each([{ engine: 'browser' as const }, { engine: 'browserIfAny' as const }, { waitForMs: 500 }])(
    'is that of all hosts after one page when the options ask for it (%j)',
    (options) => {
      const need = new BrowserNeed();
      const spec = { ...SCRAPE, ...options };
      expect(need.isOfWholeHost('a', spec)).toBe(false);
      need.handedBack('a', spec);
      expect(need.isOfWholeHost('b', spec)).toBe(true);
      need.sufficed('a', spec);
      expect(need.isOfWholeHost('a', spec)).toBe(false);
      need.handedBack('a', spec);
      expect(need.isOfWholeHost('a', spec)).toBe(true);
    },
  );

  it('forgets the hosts that it has not heard of for longest', () => {
    const need = new BrowserNeed();
    for (let i = 0; i < 3; i++) need.handedBack('first', SCRAPE);
    for (let i = 0; i < 10_000; i++) need.handedBack(`host-${i}`, SCRAPE);
    expect(need.isOfWholeHost('first', SCRAPE)).toBe(false);
  });
});
