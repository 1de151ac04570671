/**
 * Learned selectors: after a model has read a page, it is asked once to write selectors for pages like it on that host. They
 * must give the model's own value, on this page and on the next ones; from then on they answer without a model. Where they do
 * not (a page of another kind, a new design), the model reads the page, and a recipe that fails on several in a row is gone.
 */
import { pickFacts } from '@troupe/content';
import type { JsonSchema, Uuid } from '@troupe/contracts';
import type { RecipeKey, SelectorRecipe, SelectorRecipes } from '@troupe/persistence';
import { createHash } from 'node:crypto';
import type { PageAnswer, SchemaCheck } from '../models/schema-check.js';
import { differences, filledPaths } from './agreement.js';
import { writeRecipe, type AskModel } from './write-recipe.js';

export interface LearnablePage {
  team: Uuid;
  url: string;
  /** Cleaned. */
  html: string;
}

export interface LearnedWish {
  prompt: string | null;
  schema: JsonSchema;
}

/** The ways to ask a model about this page. */
export interface Reading {
  /** Reads the page as if nothing had been learned. */
  read(): Promise<PageAnswer>;
  ask: AskModel;
}

export interface RecipeBookOptions {
  recipes: Pick<SelectorRecipes, 'find' | 'claim' | 'keep' | 'miss' | 'hold'>;
  check: SchemaCheck;
  /** Learning is an extra: its failures are reported here, and the page is answered all the same. */
  onProblem(what: string, error: unknown): void;
}

/** Pages on which a recipe must give the model's value before it answers alone. */
const SAMPLES = 3;
const MAX_MISSES = 5;
const RETRY_AFTER_MS = 6 * 3_600_000;
/** Larger pages are left to the model: parsing must not hold up the process. */
const MAX_HTML_CHARS = 500_000;

export class RecipeBook {
  constructor(private readonly options: RecipeBookOptions) {}

  /** @throws what `read` throws */
  async answer(page: LearnablePage, wish: LearnedWish, reading: Reading): Promise<PageAnswer> {
    if (page.html === '' || page.html.length > MAX_HTML_CHARS) return reading.read();
    const key = keyOf(page, wish);
    const known = (await this.quietly('could not be looked up', () => this.options.recipes.find(key))) ?? null;
    const recipe = known?.recipe ?? null;
    if (recipe !== null && recipe.samples >= SAMPLES) {
      const value = await this.valueByRecipe(recipe, page, wish);
      await this.quietly('could not be counted', () => this.settle(key, value !== null, known!.misses));
      return value === null ? reading.read() : { value: value.value, warnings: [] };
    }
    const answer = await reading.read();
    await this.quietly('could not be learned', () =>
      recipe === null
        ? this.learn(key, { page, wish, answer }, reading.ask)
        : this.sample(key, recipe, { page, wish, answer }),
    );
    return answer;
  }

  private settle(key: RecipeKey, isHeld: boolean, misses: number): Promise<void> {
    const { recipes } = this.options;
    if (!isHeld) return recipes.miss(key, MAX_MISSES);
    return misses > 0 ? recipes.hold(key) : Promise.resolve();
  }

  /** The value that the recipe reads, if it satisfies the schema and lacks nothing that all samples had. */
  private async valueByRecipe(
    recipe: SelectorRecipe,
    page: LearnablePage,
    wish: LearnedWish,
  ): Promise<{ value: unknown } | null> {
    const checked = await this.read(recipe, page, wish);
    if (checked === null) return null;
    const filled = new Set(filledPaths(checked.value));
    return recipe.filled.every((path) => filled.has(path)) ? checked : null;
  }

  private async read(
    { selectors }: Pick<SelectorRecipe, 'selectors'>,
    page: LearnablePage,
    wish: LearnedWish,
  ): Promise<{ value: unknown } | null> {
    const { value, warnings } = pickFacts(page.html, page.url, selectors);
    if (warnings.length > 0) return null;
    const checked = await this.options.check(wish.schema, value);
    return checked.ok ? { value: checked.value } : null;
  }

  /** Counts one more page that both the recipe and the model have read. */
  private async sample(key: RecipeKey, recipe: SelectorRecipe, { page, wish, answer }: Sample): Promise<void> {
    const { recipes } = this.options;
    const found = await this.read(recipe, page, wish);
    if (found === null || differences(found.value, answer.value).length > 0) return recipes.miss(key, 1);
    const filled = new Set(filledPaths(found.value));
    await recipes.keep(key, {
      ...recipe,
      samples: recipe.samples + 1,
      filled: recipe.filled.filter((path) => filled.has(path)),
    });
  }

  private async learn(key: RecipeKey, { page, wish, answer }: Sample, ask: AskModel): Promise<void> {
    const { recipes } = this.options;
    if (answer.warnings.length > 0 || filledPaths(answer.value).length === 0) return;
    if (!(await recipes.claim(key, RETRY_AFTER_MS))) return;
    const selectors = await writeRecipe({ ...page, ...wish, value: answer.value }, ask, async (written) => {
      const found = await this.read({ selectors: written }, page, wish);
      return found === null ? ['the value does not satisfy the schema'] : differences(found.value, answer.value);
    });
    if (selectors !== null) await recipes.keep(key, { selectors, samples: 1, filled: filledPaths(answer.value) });
  }

  private async quietly<T>(what: string, act: () => Promise<T>): Promise<T | undefined> {
    try {
      return await act();
    } catch (error) {
      this.options.onProblem(`learned selectors ${what}`, error);
      return undefined;
    }
  }
}

interface Sample {
  page: LearnablePage;
  wish: LearnedWish;
  answer: PageAnswer;
}

function keyOf({ team, url }: LearnablePage, { prompt, schema }: LearnedWish): RecipeKey {
  const wish = createHash('sha256')
    .update(JSON.stringify([schema, prompt]))
    .digest();
  return { team, host: new URL(url).host, wish };
}
