import { beforeEach, describe, expect, it } from '@jest/globals';
import { brotliDecompressSync } from 'node:zlib';
import { CacheWriter, type FetchedBody } from './cache-writer.js';
import { metaOf } from './cached-page.js';

const MB = 1024 * 1024;
const key = (n: number) => ({ team: 'team', urlH: `${n}`, variantH: '0' });

function page(n: number, bytes = 100): FetchedBody {
  const url = `http://site.test/${n}`;
  const body = new Uint8Array(bytes).fill(n);
  const meta = metaOf({ headers: {}, finalUrl: url, statusCode: 200, rendered: false } as never);
  return { key: key(n), url, meta, body };
}

describe('pages on their way into the cache', () => {
  let blobs: Buffer[];
  let stored: { urls: string[]; blobs: string[]; hour: string; bytes: number }[];
  let renewed: unknown[];
  let failures: number;
  let total: number;
  let now: number;
  let warnings: number;
  let writer: CacheWriter;

  beforeEach(() => {
    blobs = [];
    stored = [];
    renewed = [];
    failures = 0;
    total = 0;
    now = Date.UTC(2026, 10, 22, 10, 30);
    warnings = 0;
    writer = new CacheWriter({
      index: {
        store: async (rows, { hour, bytes }) => {
          if (failures-- > 0) throw new Error('no Postgres');
          stored.push({ urls: rows.map(({ url }) => url), blobs: rows.map(({ blob }) => blob), hour, bytes });
          return total;
        },
        renew: async (keys) => void renewed.push(...keys),
      },
      blobs: { put: async (bytes) => `blob-${blobs.push(Buffer.from(bytes))}` },
      maxBytes: 1000,
      log: { warn: () => void warnings++ },
      wallMs: () => now,
    });
  });

  it('are stored together, each with its place, under the hour after their longest life', async () => {
    for (const n of [1, 2, 3]) writer.keep(page(n));
    await writer.drain();
    expect(blobs).toHaveLength(1);
    expect(stored).toMatchObject([
      { urls: [1, 2, 3].map((n) => page(n).url), hour: '2026112911', bytes: blobs[0]!.length },
    ]);
    const [from, to] = /@(\d+)-(\d+)$/.exec(stored[0]!.blobs[1]!)!.slice(1).map(Number);
    expect([...brotliDecompressSync(blobs[0]!.subarray(from, to))]).toEqual([...page(2).body]);
  });

  it('are stored a moment later by themselves', async () => {
    writer.keep(page(1));
    for (let tries = 0; tries < 500 && stored.length === 0; tries++)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(stored).toHaveLength(1);
  });

  it('are gathered again while others are being stored', async () => {
    writer.keep(page(1));
    const until = performance.now() + 700;
    for (let n = 2; performance.now() < until; n++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      if (n < 60) writer.keep(page(n));
    }
    await writer.drain();
    expect(stored.length).toBeLessThanOrEqual(4);
  });

  it('are stored at once when they are many', async () => {
    for (let n = 0; n < 200; n++) writer.keep(page(n));
    for (let tries = 0; tries < 20 && stored.length < 3; tries++)
      await new Promise((resolve) => setTimeout(resolve, 5));
    expect(stored.map(({ urls }) => urls.length)).toEqual([64, 64, 64]);
    await writer.drain();
    expect(stored.map(({ urls }) => urls.length)).toEqual([64, 64, 64, 8]);
  });

  it('are renewed without being stored', async () => {
    writer.renew(key(1));
    await writer.drain();
    expect(renewed).toEqual([key(1)]);
    expect(stored).toEqual([]);
  });

  it('are forgotten when too many wait', async () => {
    for (let n = 0; n < 15; n++) writer.keep(page(n, 4 * MB));
    await writer.drain();
    expect(stored.flatMap(({ urls }) => urls)).toHaveLength(12);
    expect(writer.hasRoom(4 * MB)).toBe(true);
  });

  it('are not stored while the cache is full', async () => {
    total = 1001;
    writer.keep(page(1));
    await writer.drain();
    expect(writer.hasRoom(1)).toBe(false);
    writer.keep(page(2));
    await writer.drain();
    expect(stored).toHaveLength(1);
    now += 30_000;
    expect(writer.hasRoom(1)).toBe(true);
  });

  it('are lost when the store fails, with one word about it', async () => {
    failures = 2;
    for (const n of [1, 2, 3]) {
      writer.keep(page(n));
      await writer.drain();
    }
    expect(stored.map(({ urls }) => urls)).toEqual([[page(3).url]]);
    expect(warnings).toBe(1);
  });
});
