import { describe, expect, it } from '@jest/globals';
import type { ExtractSpec, JsonSchema, ModelTask } from '@troupe/contracts';
import type { ExtractResult } from '@troupe/persistence';
import type { LanguageModel, ModelQuestion } from '../models/model.js';
import { MergeHandler } from './merge.handler.js';
import type { PageFacts } from './page-facts.js';

const NEVER = new AbortController().signal;
const SCHEMA: JsonSchema = {
  type: 'object',
  properties: { products: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } } },
};

const page = (child: number, item: number, value: unknown, error: string | null = null): PageFacts => ({
  child,
  item,
  url: `http://site.test/${child}/${item}`,
  value,
  notes: [],
  error,
});

function around(pages: PageFacts[], { contextTokens = 1_000, problems = [] as string[] } = {}) {
  const kept: ExtractResult[] = [];
  const asked: ModelQuestion[] = [];
  const model: LanguageModel = {
    contextTokens,
    countTokens: (text) => text.length,
    ask: (question) => {
      asked.push(question);
      return Promise.resolve({
        value: { names: ['A', 'B'] },
        toolCalls: [],
        tokens: { prompt: 40, answer: 5 },
        notes: [],
      });
    },
  };
  const handler = new MergeHandler({
    steps: {
      list: (_, prefix) =>
        Promise.resolve(
          pages.map((facts, i) => ({ step: `${prefix}${i}`, tokens: 1, credits: 0, result: { value: [facts] } })),
        ),
      keepResult: (_, result) => Promise.resolve(void kept.push(result)),
    },
    models: { of: () => Promise.resolve(model) },
    fit: async (_, value) => ({ value, notes: [], problems }),
  });
  const run = (spec: Partial<ExtractSpec>) => {
    const work = {
      what: 'merge',
      spec: { schema: null, prompt: 'names', systemPrompt: null, showSources: false, ...spec },
    };
    return handler.run({ jobNo: '1', team: 't', deadlineMs: 1_000, work } as unknown as ModelTask as never, NEVER);
  };
  return { run, kept, asked };
}

describe('the merge of an extract job', () => {
  it('lists a thing once, in the order of the pages however they came in, with its sources', async () => {
    const { run, kept, asked } = around([
      page(1, 1, { products: [{ name: 'Lamp' }] }),
      page(0, 7, { products: [{ name: 'Lamp' }, { name: 'Chair' }] }),
      page(0, 2, { products: [{ name: 'Desk' }] }),
    ]);
    expect(await run({ schema: SCHEMA, showSources: true })).toEqual({
      outcome: { what: 'merged', warning: null },
      value: null,
      tokens: 0,
      credits: 0,
    });
    expect(kept[0]!.data).toEqual({ products: [{ name: 'Desk' }, { name: 'Lamp' }, { name: 'Chair' }] });
    expect(kept[0]!.sources).toMatchObject({ 'products[1].name': ['http://site.test/0/7', 'http://site.test/1/1'] });
    expect(asked).toEqual([]);
  });

  it('keeps no sources that were not asked for', async () => {
    const { run, kept } = around([page(0, 1, { products: [{ name: 'Lamp' }] })]);
    await run({ schema: SCHEMA });
    expect(kept[0]!.sources).toEqual({});
  });

  it('has the model bring pages of different forms into one, and counts what that took', async () => {
    const { run, kept, asked } = around([page(0, 1, { name: 'A' }), page(0, 2, { names: ['B'] })]);
    expect(await run({ showSources: true })).toMatchObject({ tokens: 45 });
    expect(kept[0]).toEqual({
      data: { names: ['A', 'B'] },
      sources: { 'names[0]': ['http://site.test/0/1'], 'names[1]': ['http://site.test/0/2'] },
    });
    expect(asked).toMatchObject([
      { request: 'names', data: [{ url: 'http://site.test/0/1' }, { text: '{"names":["B"]}' }] },
    ]);
  });

  it('asks no model about pages of one form, nor about more than fits into a question', async () => {
    const alike = around([page(0, 1, { names: ['A'] }), page(0, 2, { names: ['B'] })]);
    expect(await alike.run({})).toMatchObject({ tokens: 0, outcome: { warning: null } });
    expect(alike.kept[0]!.data).toEqual({ names: ['A', 'B'] });
    const large = around([page(0, 1, { name: 'A' }), page(0, 2, { names: ['B'] })], { contextTokens: 10 });
    expect((await large.run({})).outcome.warning).toContain('only put together');
    expect([...alike.asked, ...large.asked]).toEqual([]);
  });

  it('says what the schema requires and no page tells', async () => {
    const { run, kept } = around([page(0, 1, { products: [] })], { problems: ['/products: must have an item'] });
    const { outcome } = await run({ schema: SCHEMA });
    expect(outcome.warning).toContain('/products: must have an item');
    expect(outcome.warning).toContain('No page tells anything');
    expect(kept[0]!.data).toEqual({ products: [] });
  });

  it('fails when no page could be read, and goes on when one could', async () => {
    const error = 'http://site.test/0/1 could not be read: no';
    await expect(around([page(0, 1, null, error)]).run({})).rejects.toMatchObject({
      code: 'SCRAPE_JSON_FAILED',
      retryable: false,
      message: expect.stringContaining(error),
    });
    const { run, kept } = around([page(0, 1, null, error), page(0, 2, { names: ['B'] })]);
    await run({});
    expect(kept[0]!.data).toEqual({ names: ['B'] });
  });

  it('answers with an object also when no form was asked for', async () => {
    const text = around([page(0, 1, 'Rome')]);
    await text.run({});
    const nothing = around([page(0, 1, null)]);
    await nothing.run({});
    expect([text.kept[0]!.data, nothing.kept[0]!.data]).toEqual([{ answer: 'Rome' }, {}]);
  });
});
