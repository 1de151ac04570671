import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ChangeHistory, PageCacheRepository, Retention, type CachedPageMeta } from '@troupe/persistence';
import { randomUUID } from 'node:crypto';
import { testDatabase, type TestDatabase } from './database.js';

const META: CachedPageMeta = {
  finalUrl: 'http://site.test/b',
  statusCode: 200,
  contentType: 'text/html',
  robotsTag: null,
  rendered: false,
  engine: 'http',
  etag: '"\u00e9"',
  lastModified: null,
};
const SITE = '00000000000000aa';
const STORED = { hour: '2026112911', bytes: 100 };

let db: TestDatabase;
let cache: PageCacheRepository;

beforeAll(async () => {
  db = await testDatabase();
  cache = new PageCacheRepository(db.pool);
});
afterAll(() => db.drop());

const keyOf = (team: string, urlH: string, variantH = '00000000000000ff') => ({ team, urlH, variantH });
const pageOf = (key: ReturnType<typeof keyOf>, blob: string) => ({
  ...key,
  url: `http://site.test/${key.urlH}`,
  blob,
  meta: META,
});
const stored = (key: ReturnType<typeof keyOf>, blob: string, siteH = SITE) => ({ ...pageOf(key, blob), siteH });

describe('the index of the page cache', () => {
  it('names the URLs of a site, of one team, the newest first', async () => {
    const [team, other] = [randomUUID(), randomUUID()];
    const [old, young, elsewhere] = [
      keyOf(team, '00000000000000a1'),
      keyOf(team, '00000000000000a2'),
      keyOf(team, '00000000000000a3'),
    ];
    await cache.store([stored(old, 'a')], STORED);
    await cache.store([stored(young, 'b'), stored(elsewhere, 'c', '00000000000000bb')], STORED);
    await cache.store([stored(keyOf(other, '00000000000000a4'), 'd')], STORED);
    const urls = [young, old].map(({ urlH }) => `http://site.test/${urlH}`);
    expect(await cache.urlsOf(team, SITE, 10)).toEqual(urls);
    expect(await cache.urlsOf(team, SITE, 1)).toEqual(urls.slice(0, 1));
  });

  it('finds the pages of a team by URL and variant, with their age', async () => {
    const [team, other] = [randomUUID(), randomUUID()];
    const keys = [keyOf(team, 'ffffffffffffffff'), keyOf(team, '0000000000000001'), keyOf(other, '0000000000000001')];
    await cache.store([stored(keys[0]!, 'a'), stored(keys[1]!, 'b')], STORED);
    const found = await cache.find([...keys, keyOf(team, '0000000000000001', '0000000000000001')]);
    expect(found).toHaveLength(2);
    expect(found).toEqual(
      expect.arrayContaining([
        { ...pageOf(keys[0]!, 'a'), at: expect.any(Date), ageMs: expect.any(Number) },
        { ...pageOf(keys[1]!, 'b'), at: expect.any(Date), ageMs: expect.any(Number) },
      ]),
    );
    expect(found[0]!.ageMs).toBeGreaterThanOrEqual(0);
    expect(found[0]!.ageMs).toBeLessThan(60_000);
  });

  it('replaces a page, also within one statement, and weighs what was written', async () => {
    const key = keyOf(randomUUID(), '0000000000000002');
    const before = await cache.store([stored(key, 'a'), stored(key, 'b')], STORED);
    const after = await cache.store([stored(key, 'c')], { hour: '2026112912', bytes: 7 });
    expect(after - before).toBe(7);
    expect(await cache.find([key])).toMatchObject([{ blob: 'c' }]);
  });

  it('takes pages from several fetchers at once', async () => {
    const team = randomUUID();
    const keys = Array.from({ length: 50 }, (_, i) => keyOf(team, (i + 16).toString(16).padStart(16, '0')));
    const rounds = Array.from({ length: 8 }, (_, i) =>
      cache.store(
        (i % 2 === 0 ? keys : keys.toReversed()).map((key) => stored(key, `${i}`)),
        STORED,
      ),
    );
    await Promise.all(rounds);
    expect(await cache.find(keys)).toHaveLength(50);
  });

  it('makes a page young again', async () => {
    const key = keyOf(randomUUID(), '0000000000000003');
    await cache.store([stored(key, 'a')], STORED);
    await db.pool.query(`UPDATE page_cache SET at = now() - interval '1 day' WHERE team_id = $1`, [key.team]);
    expect((await cache.find([key]))[0]!.ageMs).toBeGreaterThan(86_000_000);
    await cache.renew([key]);
    expect((await cache.find([key]))[0]!.ageMs).toBeLessThan(60_000);
  });

  it('is emptied hour by hour', async () => {
    const retention = new Retention(db.pool);
    const [old, young] = [keyOf(randomUUID(), '0000000000000004'), keyOf(randomUUID(), '0000000000000005')];
    await cache.store([stored(old, 'a')], { hour: '2026010101', bytes: 11 });
    await cache.store([stored(young, 'b')], { hour: '2026010102', bytes: 22 });
    expect((await retention.cacheBuckets()).slice(0, 2)).toEqual([
      { hour: '2026010101', bytes: 11 },
      { hour: '2026010102', bytes: 22 },
    ]);
    await retention.dropCachedPages('2026010101');
    expect(await cache.find([old, young])).toMatchObject([{ blob: 'b' }]);
    expect((await retention.cacheBuckets())[0]).toMatchObject({ hour: '2026010101' });
    await retention.dropCacheBucket('2026010101');
    expect((await retention.cacheBuckets())[0]).toMatchObject({ hour: '2026010102' });
  });
});

describe('the history of a page', () => {
  const text = (n: number) => ({ hash: Buffer.from([n]), blob: `blob-${n}` });
  const kept = (n: number) => ({ ...text(n), url: `http://site.test/${n}`, siteH: SITE });
  let history: ChangeHistory;
  beforeAll(() => {
    history = new ChangeHistory(db.pool);
  });

  it('hands out what was there before, per team, URL and tag', async () => {
    const key = { team: randomUUID(), urlH: 'fffffffffffffffe', tag: null };
    expect(await history.replace(key, randomUUID(), kept(1))).toBeNull();
    expect(await history.replace(key, randomUUID(), kept(2))).toMatchObject({ ...text(1), at: expect.any(Date) });
    expect(await history.replace(key, randomUUID(), kept(3))).toMatchObject(text(2));
    for (const other of [
      { ...key, tag: 'x' },
      { ...key, team: randomUUID() },
      { ...key, urlH: '0000000000000009' },
    ])
      expect(await history.replace(other, randomUUID(), kept(4))).toBeNull();
    expect(await history.find(key, randomUUID())).toMatchObject(text(3));
  });

  it('gives a scrape that runs again the same answer', async () => {
    const key = { team: randomUUID(), urlH: '00000000000000aa', tag: null };
    const [first, second] = [randomUUID(), randomUUID()];
    expect(await history.replace(key, first, kept(1))).toBeNull();
    expect(await history.replace(key, first, kept(1))).toBeNull();
    const before = await history.replace(key, second, kept(2));
    expect(before).toMatchObject(text(1));
    expect(await history.replace(key, second, kept(2))).toEqual(before);
    expect(await history.find(key, second)).toEqual(before);
  });

  it('gives each of several scrapes at once another predecessor', async () => {
    const key = { team: randomUUID(), urlH: '00000000000000bb', tag: null };
    await history.replace(key, randomUUID(), kept(0));
    const before = await Promise.all([1, 2, 3, 4].map((n) => history.replace(key, randomUUID(), kept(n))));
    expect(new Set(before.map((snapshot) => snapshot?.blob)).size).toBe(4);
  });

  it('ends when the page has not been scraped for long', async () => {
    const [old, young] = [randomUUID(), randomUUID()].map((team) => ({ team, urlH: '00000000000000cc', tag: null }));
    await history.replace(old!, randomUUID(), kept(1));
    await history.replace(young!, randomUUID(), kept(1));
    await db.pool.query(`UPDATE change_snapshot SET at = now() - interval '25 hours' WHERE team_id = $1`, [old!.team]);
    await new Retention(db.pool).dropHistories(24);
    expect(await history.find(old!, randomUUID())).toBeNull();
    expect(await history.find(young!, randomUUID())).not.toBeNull();
  });

  describe('of a site', () => {
    const rangeOf = (team: string, more: object = {}) => ({
      team,
      tag: null,
      siteH: SITE,
      after: null,
      limit: 10,
      ...more,
    });
    const put = (team: string, urlH: string, more: { tag?: string; siteH?: string } = {}) =>
      history.replace({ team, urlH, tag: more.tag ?? null }, randomUUID(), {
        ...text(1),
        url: `http://site.test/${urlH}`,
        siteH: more.siteH ?? SITE,
      });
    const hashes = ['8000000000000000', 'ffffffffffffffff', '0000000000000001', '7fffffffffffffff'];

    it('are listed part by part, every page once, as far as the ends of the numbers', async () => {
      const team = randomUUID();
      for (const urlH of hashes.toReversed()) await put(team, urlH);
      const first = await history.pagesOf(rangeOf(team, { limit: 3 }));
      expect(first).toEqual(hashes.slice(0, 3).map((urlH) => ({ urlH, url: `http://site.test/${urlH}` })));
      const second = await history.pagesOf(rangeOf(team, { limit: 3, after: first.at(-1)!.urlH }));
      expect(second.map(({ urlH }) => urlH)).toEqual(hashes.slice(3));
      expect(await history.pagesOf(rangeOf(team, { after: hashes.at(-1) }))).toEqual([]);
    });

    it('are those of one team, one tag and one site, and of versions that kept no URL none', async () => {
      const [team, other] = [randomUUID(), randomUUID()];
      await put(team, '0000000000000001');
      await put(team, '0000000000000002', { tag: 'daily' });
      await put(team, '0000000000000003', { siteH: '00000000000000bb' });
      await put(team, '0000000000000004');
      await put(other, '0000000000000005');
      await db.pool.query(`UPDATE change_snapshot SET url = NULL, site_h = NULL WHERE team_id = $1 AND url_h = 4`, [
        team,
      ]);
      const listed = async (range: object) => (await history.pagesOf(rangeOf(team, range))).map(({ urlH }) => urlH);
      expect(await listed({})).toEqual(['0000000000000001']);
      expect(await listed({ tag: 'daily' })).toEqual(['0000000000000002']);
      expect(await listed({ tag: 'weekly' })).toEqual([]);
      expect(await listed({ siteH: '00000000000000bb' })).toEqual(['0000000000000003']);
      await put(team, '0000000000000004');
      expect(await listed({})).toEqual(['0000000000000001', '0000000000000004']);
    });

    it('are found by an index in their order', async () => {
      const team = randomUUID();
      await db.pool.query(
        `INSERT INTO change_snapshot (team_id, url_h, tag, by_id, at, hash, blob, url, site_h)
          SELECT $1, n, '', $1, now(), '', '', 'http://site.test/' || n, n % 2 FROM generate_series(1, 20000) n`,
        [team],
      );
      await db.pool.query('ANALYZE change_snapshot');
      const { rows } = await db.pool.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN (COSTS OFF) SELECT url_h, url FROM change_snapshot
          WHERE team_id = '${team}' AND tag = '' AND site_h = 1 AND url_h > 9000 ORDER BY url_h LIMIT 500`,
      );
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toContain('change_snapshot_by_site');
      expect(plan).not.toContain('Sort');
    });
  });
});
