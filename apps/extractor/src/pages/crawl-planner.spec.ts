import { describe, expect, it } from '@jest/globals';
import type { CrawlOptionsReply } from '@troupe/contracts';
import { CrawlPlanner } from './crawl-planner.js';
import { WISHES_SCHEMA } from './crawl-wishes.js';
import { FakeModel } from './fake-model.fixture.js';

const REQUEST = { id: 'i', team: 't', url: 'https://site.test/docs/', prompt: 'only blog posts', deadlineMs: 5000 };

async function plan(...answers: object[]): Promise<{ reply: CrawlOptionsReply; model: FakeModel }> {
  const model: FakeModel = new FakeModel((): unknown => answers[Math.min(model.asked.length, answers.length) - 1]);
  const planner = new CrawlPlanner({ models: model, requestTokens: 10_000 });
  return { reply: await planner.plan(REQUEST, new AbortController().signal), model };
}

describe('CrawlPlanner', () => {
  it('gives what the sentence speaks of and nothing else', async () => {
    const { reply, model } = await plan({
      includePaths: ['^/blog/'],
      excludePaths: [],
      limit: 50,
      delay: 0,
      sitemap: null,
      crawlEntireDomain: true,
      maxDiscoveryDepth: 0,
      unknown: 1,
    });
    expect(reply).toEqual({
      ok: true,
      wishes: { includePaths: ['^/blog/'], limit: 50, crawlEntireDomain: true, maxDiscoveryDepth: 0 },
      tokens: 11,
    });
    expect(model.asked).toMatchObject([
      { purpose: 'crawl', request: 'only blog posts', schema: WISHES_SCHEMA, data: [{ text: REQUEST.url }] },
    ]);
  });

  it('says when the sentence asks for nothing that crawls know', async () => {
    expect((await plan({ limit: null })).reply).toMatchObject({ ok: true, wishes: {}, warning: expect.any(String) });
  });

  it('asks once more with what is wrong with a pattern', async () => {
    const { reply, model } = await plan({ includePaths: ['(?=blog)'] }, { includePaths: ['^/blog'] });
    expect(reply).toMatchObject({ ok: true, wishes: { includePaths: ['^/blog'] }, tokens: 22 });
    expect(model.asked[1]!.instructions).toContain('includePaths[0] ("(?=blog)"): Invalid regular expression');
    expect(model.asked[1]!.request).toBe(REQUEST.prompt);
  });

  it('fails when the second answer is no better', async () => {
    const { reply, model } = await plan({ excludePaths: ['['] });
    expect(reply).toMatchObject({ ok: false, error: { code: 'BAD_REQUEST', message: expect.stringContaining('[0]') } });
    expect(model.asked).toHaveLength(2);
  });

  it.each([
    ['https://site.test/blog/', '^/blog/'],
    ['^https://site\\.test/blog/.*', '^/blog/.*'],
    ['https:\\/\\/site\\.test\\/blog', '^\\/blog'],
    ['^blog/', '^/blog/'],
    ['/blog/', '/blog/'],
    ['\\.pdf$', '\\.pdf$'],
    ['https://site.test', '^/'],
  ])('writes %s for the path that crawls look at', async (given, written) => {
    expect((await plan({ includePaths: [given] })).reply).toMatchObject({ wishes: { includePaths: [written] } });
  });
});
