import { describe, expect, it } from '@jest/globals';
import type { JsonSchema } from '@troupe/contracts';
import type { KeptRecipe, SelectorRecipe } from '@troupe/persistence';
import type { PageAnswer } from '../models/schema-check.js';
import { RecipeBook } from './recipe-book.js';

const SCHEMA: JsonSchema = {
  type: 'object',
  properties: { name: { type: 'string' }, price: { type: 'number' } },
  required: ['name', 'price'],
};
const GOOD = [
  { path: 'name', selector: 'h1', attribute: null },
  { path: 'price', selector: '.price', attribute: null },
];
const page = (name: string, price: number, priceClass = 'price') =>
  `<h1>${name}</h1><p class="${priceClass}">${price} €</p>`;

class Table {
  row: KeptRecipe | null = null;
  claims = 0;
  async find(): Promise<KeptRecipe | null> {
    return this.row;
  }
  async claim(): Promise<boolean> {
    if (this.row !== null) return false;
    this.claims++;
    this.row = { recipe: null, misses: 0 };
    return true;
  }
  async keep(_: unknown, recipe: SelectorRecipe): Promise<void> {
    this.row = { recipe, misses: 0 };
  }
  async miss(_: unknown, most: number): Promise<void> {
    const misses = this.row!.misses + 1;
    this.row = { recipe: misses >= most ? null : this.row!.recipe, misses };
  }
  async hold(): Promise<void> {
    this.row = { ...this.row!, misses: 0 };
  }
}

class World {
  readonly table = new Table();
  readonly problems: string[] = [];
  readonly asked: string[][] = [];
  reads = 0;
  /** The model's answers, one after the other. */
  written: unknown[] = [GOOD];
  private readonly book = new RecipeBook({
    recipes: this.table,
    check: async (_, value) => {
      const { name, price } = value as Record<string, unknown>;
      const ok = typeof name === 'string' && typeof price === 'number';
      return ok ? { ok: true, value, notes: [] } : { ok: false, problem: 'a field is missing' };
    },
    onProblem: (what, error) => void this.problems.push(`${what}: ${String(error)}`),
  });

  answer(html: string, value: unknown): Promise<PageAnswer> {
    const target = { team: 'team', url: 'http://shop.test/x', html };
    return this.book.answer(
      target,
      { prompt: null, schema: SCHEMA },
      {
        read: async () => {
          this.reads++;
          return { value, warnings: [] };
        },
        ask: async ({ data }) => {
          this.asked.push(data.map(({ label }) => label));
          const fields = this.written.shift();
          if (fields === undefined) throw new Error('no more answers');
          return { fields };
        },
      },
    );
  }

  /** Pages that both ways agree on. */
  async teach(pages = 3): Promise<void> {
    for (let n = 1; n <= pages; n++) await this.answer(page(`Page ${n}`, n + 10), { name: `Page ${n}`, price: n + 10 });
  }
}

describe('learned selectors', () => {
  it('are written once, tried on three pages, and then answer without a model', async () => {
    const world = new World();
    await world.teach();
    expect([world.reads, world.asked.length, world.table.row?.recipe?.samples]).toEqual([3, 1, 3]);
    expect(await world.answer(page('Lamp', 9), 'never read')).toEqual({
      value: { name: 'Lamp', price: 9 },
      warnings: [],
    });
    expect([world.reads, world.asked.length]).toEqual([3, 1]);
  });

  it('that are wrong are mended once, with what they got wrong', async () => {
    const world = new World();
    world.written = [[GOOD[0], { path: 'price', selector: 'h1', attribute: null }], GOOD];
    await world.teach(1);
    expect(world.asked).toEqual([
      ['page source', 'facts of the page'],
      ['page source', 'facts of the page', 'what earlier selectors got wrong'],
    ]);
    expect(world.table.row?.recipe?.samples).toBe(1);
  });

  it('that stay wrong are not kept, and not asked for again on the next page', async () => {
    const world = new World();
    world.written = [[], []];
    await world.teach(2);
    expect([world.reads, world.asked.length, world.table.row]).toEqual([2, 2, { recipe: null, misses: 0 }]);
  });

  it('are given up when another page on trial tells another value', async () => {
    const world = new World();
    await world.teach(2);
    await world.answer(page('Old name', 3), { name: 'New name', price: 3 });
    expect(world.table.row?.recipe).toBeNull();
  });

  it('give way to the model where the page has changed, and are gone after five such pages in a row', async () => {
    const world = new World();
    await world.teach();
    const changed = page('Lamp', 9, 'cost');
    for (let n = 1; n <= 4; n++) expect((await world.answer(changed, `read ${n}`)).value).toBe(`read ${n}`);
    await world.answer(page('Chair', 5), 'never read');
    expect([world.reads, world.table.row?.misses]).toEqual([7, 0]);
    for (let n = 1; n <= 5; n++) await world.answer(changed, 'read');
    expect(world.table.row?.recipe).toBeNull();
  });

  it('never cost a page its answer', async () => {
    const world = new World();
    world.written = [];
    expect((await world.answer(page('Lamp', 9), { name: 'Lamp', price: 9 })).value).toEqual({ name: 'Lamp', price: 9 });
    world.table.find = () => Promise.reject(new Error('no database'));
    expect((await world.answer(page('Lamp', 9), 'read')).value).toBe('read');
    expect(world.problems).toEqual([
      'learned selectors could not be learned: Error: no more answers',
      'learned selectors could not be looked up: Error: no database',
    ]);
  });
});
