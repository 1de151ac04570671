import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AdLists, type AdFilter } from './ad-filter.js';

const PAGE = 'https://news.example/story';
const NO_NAMES = { classes: [], ids: [] };
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'troupe-lists-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const refuses = (filter: AdFilter, url: string, resourceType = 'Script', pageUrl = PAGE): boolean =>
  filter.refuses({ url, resourceType, pageUrl });

describe('the built-in list', () => {
  const lists = new AdLists(null);

  it.each([
    ['https://securepubads.g.doubleclick.net/tag/js/gpt.js', 'Script'],
    ['https://cdn.taboola.com/libtrc/loader.js', 'Script'],
    ['https://cdn.cookielaw.org/scripttemplates/otSDKStub.js', 'Script'],
    ['https://ib.adnxs.com/pixie', 'Image'],
    ['https://tpc.googlesyndication.com/safeframe', 'Document'],
  ])('refuses %s (%s)', async (url, type) => {
    expect(refuses(await lists.filter(), url, type)).toBe(true);
  });

  it.each([
    'https://news.example/app.js',
    'https://cdn.jsdelivr.net/npm/vue',
    'https://www.youtube.com/embed/x',
    'https://notdoubleclick.net.example/x.js',
    'https://news.example/?from=https://ad.doubleclick.net/x',
  ])('lets %s pass', async (url) => {
    expect(refuses(await lists.filter(), url)).toBe(false);
  });

  it('lets the site of an ad network load its own parts', async () => {
    expect(
      refuses(await lists.filter(), 'https://static.criteo.com/site.js', 'Script', 'https://www.criteo.com/'),
    ).toBe(false);
  });

  it('has a pattern for everything it refuses, ports included', async () => {
    const { patterns } = await lists.filter();
    const matches = (url: string): boolean =>
      patterns.some((pattern) => {
        const parts = pattern.split('*').map((part) => part.replace(/[.]/g, '\\.'));
        return new RegExp(`^${parts.join('.*')}$`).test(url);
      });
    expect(matches('https://ad.doubleclick.net/x')).toBe(true);
    expect(matches('http://doubleclick.net:8080/x')).toBe(true);
    expect(matches('https://news.example/app.js')).toBe(false);
    expect(patterns).not.toContain('*');
  });

  it('names the boxes that a page has names for', async () => {
    const filter = await lists.filter();
    const boxes = filter.boxes(PAGE, { classes: ['cookie-banner', 'story'], ids: ['onetrust-banner-sdk'] });
    expect(boxes).toEqual(expect.arrayContaining(['.cookie-banner', '#onetrust-banner-sdk', 'ins.adsbygoogle']));
    expect(boxes).not.toContain('.cookie-bar');
    expect(boxes.every((selector) => !/[{}]/.test(selector))).toBe(true);
  });

  it('judges a request in less than a tenth of a millisecond', async () => {
    const filter = await lists.filter();
    const urls = Array.from({ length: 5000 }, (_, n) => `https://cdn${n}.example/assets/${n}/bundle.js?v=${n}`);
    const before = process.cpuUsage();
    for (const url of urls) refuses(filter, url);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / urls.length).toBeLessThan(100);
  });
});

describe('lists of the operator', () => {
  it('add to the built-in one, with exceptions, paths and boxes of single sites', async () => {
    await writeFile(
      path.join(dir, 'own.txt'),
      '! a comment\n/banners/*$image\n@@||cdn.taboola.com^$script\nnews.example##.promo\n',
    );
    await writeFile(path.join(dir, 'notes.md'), '||news.example^');
    const filter = await new AdLists(dir).filter();
    expect(filter.patterns).toEqual(['*']);
    expect(refuses(filter, 'https://news.example/banners/1.png', 'Image')).toBe(true);
    expect(refuses(filter, 'https://news.example/story.png', 'Image')).toBe(false);
    expect(refuses(filter, 'https://cdn.taboola.com/x.js')).toBe(false);
    expect(refuses(filter, 'https://ad.doubleclick.net/x.js')).toBe(true);
    expect(filter.boxes(PAGE, { classes: ['promo'], ids: [] })).toContain('.promo');
    expect(filter.boxes('https://other.example/', { classes: ['promo'], ids: [] })).not.toContain('.promo');
  });

  it('that are not there are an error that names their folder', async () => {
    const empty = path.join(dir, 'none');
    await expect(new AdLists(empty).filter()).rejects.toThrow(empty);
  });

  it('without a single box leave the built-in ones', async () => {
    const filter = await new AdLists(dir).filter();
    expect(filter.boxes(PAGE, NO_NAMES)).toContain('ins.adsbygoogle');
  });
});
