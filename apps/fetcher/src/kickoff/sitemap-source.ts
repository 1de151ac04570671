/**
 * A sitemap file cut into chunks of 1,000 entries. The cuts depend on the file alone, so that (file, chunk) names the
 * same URLs on every fetcher, wherever reading began (docs/design/frontier.md, "Robots and sitemaps").
 */
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { SitemapReader, type SitemapItem } from '@troupe/frontier';
import { TimeSlice } from '@troupe/observability';

export const CHUNK_ITEMS = 1000;
export const MAX_SITEMAP_BYTES = 50 * 1024 * 1024;
const SLICE_BYTES = 64 * 1024;

export interface SitemapPart {
  chunk: number;
  items: SitemapItem[];
  last: boolean;
  /** On the last part: why the file may hold more than was read; entries before it stand. */
  problem: string | null;
}

/** Whole chunks in order, parsed in slices of a few ms. Never throws for what the file holds: a broken file ends early with a `problem`. */
export async function* readSitemap(body: Uint8Array): AsyncGenerator<SitemapPart> {
  const reader = new SitemapReader();
  const damage: { text: string | null } = { text: null };
  let pending: SitemapItem[] = [];
  let chunk = 0;
  for await (const text of readText(body, damage)) {
    pending = pending.concat(reader.write(text));
    // One entry more than a chunk must be at hand to know that the chunk is not the last.
    while (pending.length > CHUNK_ITEMS) {
      yield { chunk: chunk++, items: pending.splice(0, CHUNK_ITEMS), last: false, problem: null };
    }
  }
  pending = pending.concat(reader.end());
  while (pending.length > CHUNK_ITEMS) {
    yield { chunk: chunk++, items: pending.splice(0, CHUNK_ITEMS), last: false, problem: null };
  }
  const problem = damage.text ?? (reader.broken ? 'the file is damaged or too large' : null);
  yield { chunk, items: pending, last: true, problem };
}

async function* readText(body: Uint8Array, damage: { text: string | null }): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8');
  const turn = new TimeSlice();
  let bytes = 0;
  try {
    for await (const slice of isGzip(body) ? gunzip(body) : slices(body)) {
      bytes += slice.byteLength;
      if (bytes > MAX_SITEMAP_BYTES) throw new RangeError(`the file is larger than ${MAX_SITEMAP_BYTES} bytes`);
      yield decoder.decode(slice, { stream: true });
      if (turn.isOver) await turn.next();
    }
    yield decoder.decode();
  } catch (error) {
    damage.text = error instanceof Error ? error.message : String(error);
  }
}

/** By its magic bytes: names and content types of packed sitemaps are often wrong. */
function isGzip(body: Uint8Array): boolean {
  return body[0] === 0x1f && body[1] === 0x8b;
}

/** Inflates slice by slice: a bomb is noticed when it passes the cap, not after. */
function gunzip(body: Uint8Array): AsyncIterable<Uint8Array> {
  return Readable.from(slices(body)).pipe(createGunzip({ chunkSize: SLICE_BYTES }));
}

function* slices(body: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < body.byteLength; from += SLICE_BYTES) yield body.subarray(from, from + SLICE_BYTES);
}
