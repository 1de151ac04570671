import { describe, expect, it } from '@jest/globals';
import { plainScrape, TroupeError, type ExtractSpec, type MapLink, type ModelTask } from '@troupe/contracts';
import type { ModelStep, NewChild } from '@troupe/persistence';
import { PlanHandler, type PlanTask } from './plan.handler.js';

const NEVER = new AbortController().signal;
const SPEC: ExtractSpec = {
  urls: [],
  prompt: 'product names',
  schema: null,
  systemPrompt: null,
  allowExternalLinks: false,
  ignoreSitemap: false,
  includeSubdomains: true,
  limit: null,
  showSources: false,
  scrape: plainScrape({ formats: [{ type: 'markdown' }], timeoutMs: 30_000 }),
  timeoutMs: 600_000,
  webhook: null,
  warning: null,
};

function taskFor(spec: Partial<ExtractSpec>): PlanTask {
  const task = {
    actor: 'extract/j',
    job: 'j',
    jobNo: '1',
    team: 't',
    keyId: null,
    step: 'plan',
    attempt: 1,
    deadlineMs: 1e6,
  };
  return { ...task, type: 'ModelTask', work: { what: 'plan', spec: { ...SPEC, ...spec } } } as ModelTask as PlanTask;
}

interface World {
  links?: MapLink[] | TroupeError;
  proposed?: string[];
  maxPages?: number;
}

function around({ links = [], proposed = [], maxPages = 100 }: World = {}) {
  const recorded = new Map<string, ModelStep>();
  const started: NewChild[] = [];
  let decisions = 0;
  const handler = new PlanHandler({
    steps: {
      find: (_, step) => Promise.resolve(recorded.get(step) ?? null),
      record: (_, step) => {
        if (!recorded.has(step.step)) recorded.set(step.step, step);
        return Promise.resolve(recorded.get(step.step)!);
      },
    },
    sites: {
      pagesBelow: () => {
        decisions++;
        return links instanceof TroupeError ? Promise.reject(links) : Promise.resolve(links);
      },
    },
    proposals: {
      find: () => {
        decisions++;
        return Promise.resolve({ urls: proposed, tokens: 30, warning: 'proposed' });
      },
    },
    children: {
      start: (child) => {
        started.push(child);
        return Promise.resolve({ job: `child-${child.nth}`, jobNo: String(child.nth), kind: child.kind });
      },
    },
    maxPages,
  });
  return { handler, started, decisions: () => decisions };
}

const pages = (n: number) => Array.from({ length: n }, (_, i) => `http://shop.test/p/${i}`);
const listOf = (child: NewChild | undefined) => (child?.kind === 'batch' ? child.urls.map(({ url }) => url) : null);

describe('the plan of an extract job', () => {
  it('reads named pages as one list, each once and in their order', async () => {
    const { handler, started } = around();
    const urls = ['http://a.test/x', 'http://b.test', 'http://a.test/x#top', 'http://c.test/'];
    const { outcome, tokens } = await handler.run(taskFor({ urls, warning: 'odd' }), NEVER);
    expect(outcome).toEqual({
      what: 'planned',
      children: [{ job: 'child-0', jobNo: '0', kind: 'batch' }],
      warning: 'odd',
    });
    expect(tokens).toBe(0);
    expect(listOf(started[0])).toEqual(['http://a.test/x', 'http://b.test', 'http://c.test/']);
    expect(started[0]).toMatchObject({
      parent: 'extract/j',
      nth: 0,
      team: 't',
      spec: { parent: 'extract/j', webhook: null },
    });
  });

  it('crawls what lies below a wildcard when no more is known than may be read', async () => {
    const { handler, started } = around({ links: pages(3).map((url) => ({ url })) });
    await handler.run(taskFor({ urls: ['http://shop.test/p/*'], limit: 7, ignoreSitemap: true }), NEVER);
    expect(started).toMatchObject([
      {
        kind: 'crawl',
        spec: {
          limit: 7,
          parent: 'extract/j',
          ignoreRobots: false,
          scope: {
            base: 'http://shop.test/p/',
            entireDomain: false,
            allowSubdomains: true,
            sitemap: 'skip',
            maxDepth: null,
          },
        },
      },
    ]);
  });

  it('reads the pages that fit the question best when more are known', async () => {
    const links = [...pages(5), 'http://shop.test/product/lamp', 'http://shop.test/product/desk'].map((url) => ({
      url,
    }));
    const { handler, started } = around({ links });
    await handler.run(taskFor({ urls: ['http://shop.test/*'], limit: 2 }), NEVER);
    expect(listOf(started[0])).toEqual(['http://shop.test/product/lamp', 'http://shop.test/product/desk']);
  });

  it('takes the names of the schema for words of the question', async () => {
    const links = ['about', 'contact', 'warranty-terms'].map((path) => ({ url: `http://shop.test/${path}` }));
    const { handler, started } = around({ links });
    const schema = { type: 'object', properties: { warrantyMonths: { type: 'integer' } } };
    await handler.run(taskFor({ urls: ['http://shop.test/*'], limit: 1, prompt: null, schema }), NEVER);
    expect(listOf(started[0])).toEqual(['http://shop.test/warranty-terms']);
  });

  it('crawls a site whose map cannot be had', async () => {
    const { handler, started } = around({ links: new TroupeError('MAP_FAILED', 'no') });
    await handler.run(taskFor({ urls: ['http://shop.test/*'] }), NEVER);
    expect(started).toMatchObject([{ kind: 'crawl', spec: { limit: 100 } }]);
  });

  it('never reads more pages than the installation allows', async () => {
    const { handler, started } = around({ maxPages: 10 });
    const urls = ['http://a.test/1', 'http://a.test/2', 'http://b.test/*', 'http://c.test/*'];
    const { outcome } = await handler.run(taskFor({ urls, limit: 50 }), NEVER);
    const crawls = started.flatMap((child) => (child.kind === 'crawl' ? [child.spec.limit] : []));
    expect([listOf(started[0])?.length, ...crawls]).toEqual([2, 4, 4]);
    expect(outcome.warning).toBe('At most 4 pages were read for a wildcard.');
    const many = around({ maxPages: 3 });
    expect((await many.handler.run(taskFor({ urls: pages(5) }), NEVER)).outcome.warning).toContain('first 3 URLs');
    expect(listOf(many.started[0])).toEqual(pages(3));
  });

  it('follows links outside from named pages one hop, and only a few of them', async () => {
    const { handler, started } = around();
    await handler.run(taskFor({ urls: ['http://a.test/x', 'http://b.test/y'], allowExternalLinks: true }), NEVER);
    expect(started).toHaveLength(2);
    for (const child of started)
      expect(child).toMatchObject({
        kind: 'crawl',
        spec: { limit: 25, scope: { maxDepth: 1, allowExternalLinks: true, sitemap: 'skip' } },
      });
  });

  it('asks for pages when none is named, and fails when there is none', async () => {
    const { handler, started } = around({ proposed: pages(2) });
    const { outcome, tokens } = await handler.run(taskFor({}), NEVER);
    expect({ warning: outcome.warning, tokens, list: listOf(started[0]) }).toEqual({
      warning: 'proposed',
      tokens: 30,
      list: pages(2),
    });
    await expect(around().handler.run(taskFor({}), NEVER)).rejects.toMatchObject({ retryable: false });
  });

  it('is decided once: a repeated step starts the same pages and asks no model', async () => {
    const { handler, started, decisions } = around({ proposed: pages(2) });
    const first = await handler.run(taskFor({}), NEVER);
    const again = await handler.run(taskFor({}), NEVER);
    expect(again).toEqual(first);
    expect(decisions()).toBe(1);
    expect(started[1]).toEqual(started[0]);
  });
});
