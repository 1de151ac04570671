/** What must hold of the results of a job, whatever happened while it ran. */
import { expect } from '@jest/globals';
import type { Books } from './evidence.js';
import type { PageDocument } from './job-client.js';
import type { KnownSite } from './known-site.js';

/** Everything that must hold of a finished job, whatever happened to it. */
export function expectBalanced(books: Books, pages: number): void {
  expect(books.errors).toEqual([]);
  expect(books.deadLetters).toBe(0);
  expect(books.status).toBe('completed');
  expect(books).toMatchObject({
    pages,
    items: pages,
    firstOrd: 1,
    lastOrd: pages,
    total: pages,
    completed: pages,
    credits: pages,
    ledger: pages,
    pageCredits: pages,
    frontier: 0,
  });
  expect(books.outcomes.ok).toBe(pages);
  expect(books.counted).toEqual(books.outcomes);
  expect(Object.values(books.outcomes).reduce((sum, n) => sum + n, 0)).toBe(books.discovered);
}

/** The set difference both ways, which reads better than two lists of thousands. */
export function expectSameUrls(found: readonly string[], expected: ReadonlySet<string>): void {
  const set = new Set(found);
  expect({
    missing: [...expected].filter((url) => !set.has(url)),
    unexpected: [...set].filter((url) => !expected.has(url)),
    twice: found.length - set.size,
  }).toEqual({ missing: [], unexpected: [], twice: 0 });
}

/** Each page once, with the whole text of its own and nothing else. */
export function expectDocuments(
  site: KnownSite,
  documents: readonly PageDocument[],
  expected: ReadonlySet<string>,
): void {
  expectSameUrls(
    documents.map(({ metadata }) => metadata.url),
    expected,
  );
  const wrong = documents.filter(({ metadata, markdown }) => markdown !== site.markdownOf(metadata.url));
  expect(wrong.map(({ metadata, markdown }) => [metadata.url, markdown?.slice(0, 500)])).toEqual([]);
}
