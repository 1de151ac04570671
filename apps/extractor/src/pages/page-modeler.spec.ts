import { describe, expect, it } from '@jest/globals';
import type { ModelFormat, PageModelReply, PageModelRequest, PageTexts } from '@troupe/contracts';
import { estimateTokens } from '@troupe/extraction';
import { ModelError } from '../models/model-error.js';
import { FakeModel, requiredOnly, type Brain } from './fake-model.fixture.js';
import { PageModeler } from './page-modeler.js';

const REQUEST: PageModelRequest = {
  id: 'id',
  team: 'team',
  url: 'http://site.test/page',
  title: null,
  formats: [],
  changes: null,
  deadlineMs: 10_000,
  zeroRetention: false,
};
const json = (schema: Record<string, unknown> | null, prompt: string | null = null): ModelFormat => ({
  type: 'json',
  prompt,
  schema,
  selectors: null,
  learn: false,
});
const PRODUCTS = {
  type: 'object',
  properties: {
    shop: { type: 'string' },
    products: {
      type: 'array',
      items: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    },
  },
  required: ['shop', 'products'],
};
const never = new AbortController().signal;
type Answered = Extract<PageModelReply, { ok: true }>;

async function ask(
  model: FakeModel,
  changes: Partial<PageModelRequest>,
  texts: PageTexts,
  requestTokens = 100_000,
): Promise<Answered> {
  const modeler = new PageModeler({ models: model, check: requiredOnly, requestTokens });
  const reply = await modeler.answer({ ...REQUEST, ...changes }, texts, never);
  if (!reply.ok) throw new Error(reply.error.message);
  return reply;
}

/** Reads `- item` lines as products, `Shop: x` as the shop. */
const shopBrain: Brain = ({ data }) => {
  const text = data.map((block) => block.text).join('\n');
  return {
    shop: /^Shop: (.+)$/m.exec(text)?.[1] ?? null,
    products: [...text.matchAll(/^- (\w+)$/gm)].map(([, name]) => ({ name })),
  };
};
const longShop = (count: number): string =>
  Array.from(
    { length: count },
    (_, i) => `## Aisle ${i}\n\n- item${i}\n\n${'Words about this aisle. '.repeat(20)}`,
  ).join('\n\n') + '\n\nShop: Corner';
const itemsOf = (value: unknown): string[] =>
  (value as { products: { name: string }[] }).products.map(({ name }) => name);

describe('json', () => {
  it('of a page that fits is asked for once, by the caller’s schema and with the page as data', async () => {
    const model = new FakeModel(() => ({ shop: 'Corner', products: [] }));
    const reply = await ask(model, { formats: [json(PRODUCTS, 'the shop')], title: 'Corner' }, { markdown: 'A shop.' });
    expect(reply).toEqual({
      ok: true,
      parts: { json: { shop: 'Corner', products: [] } },
      tokens: 11,
      warnings: [],
      failures: [],
    });
    expect(model.asked).toMatchObject([
      {
        purpose: 'json',
        team: 'team',
        request: 'the shop',
        schema: PRODUCTS,
        data: [{ label: 'page', url: 'http://site.test/page', text: 'Title: Corner\n\nA shop.' }],
      },
    ]);
    expect(model.asked[0]!.tools).toBeUndefined();
    expect(model.asked[0]!.instructions).not.toContain('Corner');
  });

  it('of a long page is read in parts that fit, none of which must tell everything, and merged in order', async () => {
    const model = new FakeModel(shopBrain);
    const reply = await ask(model, { formats: [json(PRODUCTS)] }, { markdown: longShop(30) });
    expect(itemsOf(reply.parts.json)).toEqual(Array.from({ length: 30 }, (_, i) => `item${i}`));
    expect(reply.parts.json).toMatchObject({ shop: 'Corner' });
    expect(model.asked.length).toBeGreaterThan(3);
    expect(reply.tokens).toBe(model.asked.length * 11);
    for (const { data, schema } of model.asked) {
      expect(estimateTokens(data[0]!.text)).toBeLessThan(model.contextTokens);
      expect(schema).not.toHaveProperty('required');
      expect(schema).toMatchObject({ properties: { shop: { type: ['string', 'null'] } } });
    }
    expect(new Set(model.asked.map(({ data }) => data[0]!.label)).size).toBe(model.asked.length);
  });

  it('that lacks what the schema demands after merging is brought into form once, from the facts alone', async () => {
    const model = new FakeModel((question) =>
      question.data[0]!.label === 'facts of the parts'
        ? { shop: 'named', products: [] }
        : shopBrain(question, null as never),
    );
    const page = longShop(10).replace('Shop: Corner', '');
    const reply = await ask(model, { formats: [json(PRODUCTS)] }, { markdown: page });
    expect(reply.parts.json).toEqual({ shop: 'named', products: [] });
    const last = model.asked.at(-1)!;
    expect(last.schema).toEqual(PRODUCTS);
    expect(JSON.parse(last.data[0]!.text)).toMatchObject({ shop: null, products: expect.any(Array) });
  });

  it('without a schema keeps the form of the first part for the others', async () => {
    const model = new FakeModel(({ data, schema }) => {
      const names = [...data[0]!.text.matchAll(/^- (\w+)$/gm)].map(([, name]) => ({ name }));
      return { [Object.keys((schema!.properties ?? { goods: 1 }) as object)[0]!]: names };
    });
    const reply = await ask(model, { formats: [json(null, 'all items')] }, { markdown: longShop(20) });
    expect((reply.parts.json as { goods: unknown[] }).goods).toHaveLength(20);
    expect(model.asked[0]!.schema).toEqual({ type: 'object' });
    expect(model.asked[1]!.schema).toMatchObject({ properties: { goods: { items: { properties: { name: {} } } } } });
  });

  it('cuts what a model finds too long', async () => {
    const model = new FakeModel(shopBrain);
    model.contextTokens = 20_000;
    model.maxChars = 3000;
    const reply = await ask(model, { formats: [json(PRODUCTS)] }, { markdown: longShop(30) });
    expect(itemsOf(reply.parts.json)).toEqual(Array.from({ length: 30 }, (_, i) => `item${i}`));
    expect(reply.warnings).toEqual([]);
    expect(reply.tokens).toBe(model.asked.length * 11);
  });

  it('leaves out what the budget does not pay for, in the order of the page, and says so', async () => {
    const model = new FakeModel(shopBrain);
    model.ask = spending(model, 700);
    const page = `Shop: Corner\n\n${longShop(60)}`;
    const reply = await ask(model, { formats: [json(PRODUCTS)] }, { markdown: page }, 6000);
    const items = itemsOf(reply.parts.json);
    expect(items.length).toBeGreaterThan(5);
    expect(items.length).toBeLessThan(50);
    expect(items).toEqual(items.map((_, i) => `item${i}`));
    expect(reply.tokens).toBeLessThanOrEqual(6000);
    const [, read, all] = /trimmed to (\d+) of about (\d+) tokens/.exec(reply.warnings[0]!)!;
    expect(Number(all) / estimateTokens(page)).toBeCloseTo(1, 1);
    expect(Number(read)).toBeLessThan(Number(all));
  });

  it('goes on without a part that gave no usable answer, and says so', async () => {
    const model = new FakeModel((question, limits) => {
      if (question.data[0]!.label === 'page, part 2') throw new ModelError('SCRAPE_JSON_FAILED', 'no JSON');
      return shopBrain(question, limits);
    });
    const { parts, warnings } = await ask(model, { formats: [json(PRODUCTS)] }, { markdown: longShop(30) });
    expect(itemsOf(parts.json).length).toBeGreaterThan(10);
    expect(warnings).toEqual([expect.stringMatching(/^1 of \d+ parts of the page could not be read: no JSON/)]);
  });

  it('stops reading when the model is out of reach', async () => {
    const model = new FakeModel((question, limits) => {
      if (question.data[0]!.label !== 'page, part 1')
        throw new ModelError('SCRAPE_JSON_FAILED', 'down', { retryable: true });
      return shopBrain(question, limits);
    });
    const { warnings } = await ask(
      model,
      { formats: [json({ ...PRODUCTS, required: [] })] },
      { markdown: longShop(200) },
    );
    expect(model.asked.length).toBeLessThan(10);
    expect(warnings[0]).toMatch(/could not be read: down/);
    expect(warnings[1]).toMatch(/was not read further than \d+ of about \d+ tokens/);
  });
});

function spending(model: FakeModel, prompt: number): FakeModel['ask'] {
  const asked = model.ask.bind(model);
  return async (question, limits) => ({ ...(await asked(question, limits)), tokens: { prompt, answer: 0 } });
}

describe('several formats', () => {
  it('are made at once, and one that fails leaves the others', async () => {
    let now = 0;
    let most = 0;
    const model = new FakeModel(async ({ purpose }) => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 5));
      now--;
      if (purpose === 'json') throw new ModelError('SCRAPE_JSON_FAILED', 'no', { tokens: { prompt: 5, answer: 2 } });
      return purpose === 'highlights' ? { passages: ['A shop.'] } : `${purpose}!`;
    });
    const formats: ModelFormat[] = [
      json(PRODUCTS),
      { type: 'summary' },
      { type: 'question', question: 'What?' },
      { type: 'highlights', query: 'shop' },
    ];
    const reply = await ask(model, { formats }, { markdown: 'A shop.' });
    expect(reply.parts).toEqual({ summary: 'summary!', answer: 'question!', highlights: 'A shop.' });
    expect(reply.failures).toEqual([
      { what: 'json', error: { code: 'SCRAPE_JSON_FAILED', message: 'no', retryable: false, httpStatus: 500 } },
    ]);
    expect(reply.tokens).toBe(7 + 3 * 11);
    expect(most).toBe(4);
  });

  it('fail together when the team has no model', async () => {
    const models = { of: () => Promise.reject(new ModelError('NOT_SUPPORTED', 'none')) };
    const modeler = new PageModeler({ models, check: requiredOnly, requestTokens: 1000 });
    expect(
      await modeler.answer({ ...REQUEST, formats: [{ type: 'summary' }] }, { markdown: 'x' }, never),
    ).toMatchObject({
      ok: false,
      error: { code: 'NOT_SUPPORTED' },
    });
  });

  it('ask no model about a page without text, and none after the deadline', async () => {
    const model = new FakeModel(() => 'x');
    const empty = await ask(model, { formats: [{ type: 'summary' }] }, { markdown: ' \n ' });
    expect(empty.failures).toMatchObject([{ what: 'summary', error: { code: 'SCRAPE_JSON_FAILED' } }]);
    const late = await ask(model, { formats: [{ type: 'summary' }], deadlineMs: 0 }, { markdown: 'x' });
    expect(late.failures).toMatchObject([{ what: 'summary', error: { code: 'SCRAPE_TIMEOUT' } }]);
    expect(model.asked).toEqual([]);
  });

  it('end with the caller', async () => {
    const caller = new AbortController();
    const model = new FakeModel((_, { signal }) => {
      caller.abort(new Error('gone'));
      signal.throwIfAborted();
    });
    const modeler = new PageModeler({ models: model, check: requiredOnly, requestTokens: 1000 });
    const answer = modeler.answer({ ...REQUEST, formats: [{ type: 'summary' }] }, { markdown: 'x' }, caller.signal);
    await expect(answer).rejects.toThrow('gone');
  });
});

describe('a summary', () => {
  it('of a long page is made of summaries of its parts, in their order', async () => {
    const model = new FakeModel(({ data }) =>
      data[0]!.label.startsWith('notes')
        ? `All: ${data.map(({ text }) => text).join('+')}`
        : /part \d+/.exec(data[0]!.label)![0],
    );
    const { parts } = await ask(model, { formats: [{ type: 'summary' }] }, { markdown: longShop(20) });
    expect(parts.summary).toMatch(/^All: part 1\+part 2\+part 3/);
  });

  it('of more notes than fit into one call is made in rounds', async () => {
    const model = new FakeModel(({ data }) =>
      data[0]!.label.startsWith('notes') ? `joined ${data.length}` : 'many words. '.repeat(60),
    );
    const { parts } = await ask(model, { formats: [{ type: 'summary' }] }, { markdown: longShop(60) });
    expect(parts.summary).toMatch(/^joined \d+$/);
    for (const { data } of model.asked)
      expect(data.reduce((sum, { text }) => sum + estimateTokens(text), 0)).toBeLessThanOrEqual(model.contextTokens);
  });

  it('that is blank is a failure', async () => {
    const { failures } = await ask(new FakeModel(() => ' '), { formats: [{ type: 'summary' }] }, { markdown: 'x' });
    expect(failures).toMatchObject([{ what: 'summary', error: { code: 'SCRAPE_JSON_FAILED' } }]);
  });
});

describe('a question', () => {
  it('about a long page is answered from what its parts say of it, those without anything left out', async () => {
    const model = new FakeModel(({ data }) => {
      if (data[0]!.label.startsWith('notes')) return data.map(({ text }) => text).join();
      return data[0]!.text.includes('- item7\n') ? 'Item 7 is there.' : 'None.';
    });
    const formats: ModelFormat[] = [{ type: 'question', question: 'Where is item 7?' }];
    const { parts } = await ask(model, { formats }, { markdown: longShop(20) });
    expect(parts.answer).toBe('Item 7 is there.');
    expect(model.asked.every(({ request }) => request === 'Where is item 7?')).toBe(true);
  });
});

describe('highlights', () => {
  const formats: ModelFormat[] = [{ type: 'highlights', query: 'q' }];
  const PAGE = 'First  line\nof text. **Bold** claim with a [link](http://x.test/a_b).\n\nSecond *claim*.';
  const quoting = (...passages: string[]) => new FakeModel(() => ({ passages }));

  it('are passages as the page writes them, in its order, once', async () => {
    const model = quoting('Second *claim*.', 'First line of text.', 'line of text.', 'First line of text.');
    const { parts, warnings } = await ask(model, { formats }, { markdown: PAGE });
    expect(parts.highlights).toBe('First  line\nof text.\n\nSecond *claim*.');
    expect(warnings).toEqual([]);
  });

  it('may leave out the marks of markdown', async () => {
    const { parts } = await ask(quoting('Bold claim with a link.'), { formats }, { markdown: PAGE });
    expect(parts.highlights).toBe('Bold** claim with a [link](http://x.test/a_b).');
  });

  it('that the page does not say are left out, and said so', async () => {
    const { parts, warnings } = await ask(
      quoting('First line of lies.', 'Second claim.'),
      { formats },
      { markdown: PAGE },
    );
    expect(parts.highlights).toBe('Second *claim*.');
    expect(warnings).toEqual([expect.stringContaining('1 of 2 highlights were left out')]);
    expect((await ask(quoting('nothing of it'), { formats }, { markdown: PAGE })).parts.highlights).toBe('');
  });
});

describe('changes', () => {
  const priceBrain: Brain = ({ data }) => ({
    price: Number(/Price: (\d+)/.exec(data[0]!.text)?.[1] ?? NaN) || null,
    name: /Name: (.+)/.exec(data[0]!.text)?.[1] ?? null,
  });
  const schema = { type: 'object', properties: { price: { type: 'number' }, name: { type: 'string' } } };

  it('with a schema are the fields that differ', async () => {
    const texts = { markdown: 'Name: Lamp\nPrice: 9', previous: 'Name:  Lamp \nPrice: 8' };
    const reply = await ask(new FakeModel(priceBrain), { changes: { prompt: null, schema } }, texts);
    expect(reply.changes).toEqual({ price: { previous: 8, current: 9 } });
    expect(reply.parts).toEqual({});
  });

  it('name a field that came or went', async () => {
    const texts = { markdown: 'Price: 9', previous: 'Name: Lamp' };
    const { changes } = await ask(new FakeModel(priceBrain), { changes: { prompt: null, schema } }, texts);
    expect(changes).toEqual({ price: { previous: null, current: 9 }, name: { previous: 'Lamp', current: null } });
  });

  it('without a schema are told from both versions', async () => {
    const model = new FakeModel(({ data }) => ({ seen: data.map(({ label, text }) => `${label}: ${text}`) }));
    const changes = { prompt: 'What is new?', schema: null };
    const reply = await ask(model, { changes }, { markdown: 'b', previous: 'a' });
    expect(reply.changes).toEqual({ seen: ['earlier version: a', 'current version: b'] });
    expect(model.asked[0]).toMatchObject({ request: 'What is new?', purpose: 'changes' });
  });

  it('of long pages are told from what differs', async () => {
    const model = new FakeModel(() => ({}));
    const texts = { markdown: `${longShop(30)}\n\nNew words.`, previous: `${longShop(30)}\n\nOld words.` };
    await ask(model, { changes: { prompt: 'p', schema: null } }, texts);
    expect(model.texts()).toEqual(['Old words.\n---\nNew words.']);
  });
});
