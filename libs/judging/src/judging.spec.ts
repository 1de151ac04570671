import { describe, expect, it } from '@jest/globals';
import type { ScopeSpec } from '@troupe/contracts';
import { SchemaError } from '@troupe/json-schema';
import { setTimeout as sleep } from 'node:timers/promises';
import { judgeLinks, problemsOf } from './index.js';

const scope = (more: Partial<ScopeSpec>): ScopeSpec => ({
  base: 'http://a.test/',
  version: 0,
  includePaths: [],
  excludePaths: [],
  regexOnFullUrl: false,
  maxDepth: null,
  maxPathDepth: null,
  entireDomain: true,
  allowExternalLinks: false,
  allowSubdomains: false,
  ignoreQueryParameters: false,
  deduplicateSimilarUrls: false,
  sitemap: 'skip',
  ...more,
});
const SLOWEST = '(?:a|ab|b)(?:[ab]{1,250}){1,3}[cd]$';

/** Longest time that the event loop was held meanwhile, ms. */
async function holdOf(work: Promise<unknown>): Promise<number> {
  let isOver = false;
  void work.finally(() => (isOver = true)).catch(() => undefined);
  let worst = 0;
  for (let last = performance.now(); !isOver; last = performance.now()) {
    await sleep(1);
    worst = Math.max(worst, performance.now() - last);
  }
  return worst;
}

describe('links, judged in a thread', () => {
  it('are judged as on the spot', async () => {
    const urls = ['/docs/a', '/blog', '/docs/private', '/docs/x.zip'].map((path) => `http://a.test${path}`);
    const rules = scope({ includePaths: ['^/docs'], excludePaths: ['private'] });
    const all = [...urls, 'http://b.test/docs', 'http://a.test/'];
    expect(await judgeLinks(rules, all, 0)).toEqual([null, 'include', 'exclude', 'file-type', 'external', null]);
    expect(await judgeLinks(scope({}), all, 0)).toEqual([null, null, null, 'file-type', 'external', null]);
    expect(await judgeLinks(rules, [], 0)).toEqual([]);
  });

  it('are left out when their patterns have used up the time of a page, and hold up no other caller', async () => {
    let path = '';
    for (let i = 0, x = 12345; i < 1_900; i++) {
      x = (x * 1103515245 + 12345) % 2147483648;
      path += (x >> 16) & 1 ? 'a' : 'b';
    }
    const urls = Array.from({ length: 200 }, (_, i) => `http://a.test/${path.slice(i)}${path.slice(0, i)}`);
    // Modules that it loads at first are no part of matching.
    await judgeLinks(scope({}), [], 0);
    const startedAt = performance.now();
    const judging = judgeLinks(
      scope({ excludePaths: Array.from({ length: 13 }, (_, i) => `${SLOWEST}|${i}z`) }),
      urls,
      0,
    );
    expect(await holdOf(judging)).toBeLessThan(250);
    const rules = await judging;
    expect(rules.at(-1)).toBe('pattern-budget');
    expect(performance.now() - startedAt).toBeLessThan(8_000);
    expect(await judgeLinks(scope({ excludePaths: ['x'] }), ['http://a.test/y'], 0)).toEqual([null]);
  });
});

describe('values, judged in a thread', () => {
  it('have the problems that they have on the spot', async () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
    expect(await problemsOf(schema, { value: { n: 1 } })).toEqual([]);
    expect(await problemsOf(schema, { value: {} })).toEqual([
      expect.stringContaining("must have required property 'n'"),
    ]);
    expect(await problemsOf(schema, { value: undefined })).toHaveLength(1);
    expect(await problemsOf(schema)).toEqual([]);
  });

  it('are not judged by a schema that is none, is too large, or takes too long; the next one is served', async () => {
    await expect(problemsOf({ type: 'nothing' })).rejects.toBeInstanceOf(SchemaError);
    await expect(problemsOf({ description: 'x'.repeat(200_001) })).rejects.toThrow('longer than');
    const endless = { type: 'string', pattern: `(?i)[${'b-\u{10ffff}'.repeat(2_000)}]` };
    const judging = problemsOf(endless);
    expect(await holdOf(judging)).toBeLessThan(250);
    await expect(judging).rejects.toThrow('longer than 2000 ms');
    expect(await problemsOf({ type: 'string' }, { value: 'a' })).toEqual([]);
  }, 20_000);
});
