/** Selectors that a model wrote for the pages of a host (table `selector_recipe`), by a hash of the wish they answer. */
import type { SelectorSchema, Uuid } from '@troupe/contracts';
import type pg from 'pg';
import { storableJson } from '../actor-store/statement.js';

export interface RecipeKey {
  team: Uuid;
  /** With its port, as in URLs. */
  host: string;
  wish: Uint8Array;
}

export interface SelectorRecipe {
  selectors: SelectorSchema;
  /** Pages on which it gave what the model gave. */
  samples: number;
  /** Paths that were filled on all of them. */
  filled: string[];
}

export interface KeptRecipe {
  /** null: it could not be written, no longer holds, or is being written. */
  recipe: SelectorRecipe | null;
  /** Pages in a row on which it failed. */
  misses: number;
}

const FIND = 'SELECT recipe, misses FROM selector_recipe WHERE team_id = $1 AND host = $2 AND wish = $3';
const CLAIM = `INSERT INTO selector_recipe AS r (team_id, host, wish) VALUES ($1, $2, $3)
  ON CONFLICT (team_id, host, wish) DO UPDATE SET at = now(), misses = 0
  WHERE r.recipe IS NULL AND r.at <= now() - make_interval(secs => $4) RETURNING host`;
const KEEP = `UPDATE selector_recipe SET recipe = $4, misses = 0, at = now() WHERE team_id = $1 AND host = $2 AND wish = $3`;
const MISS = `UPDATE selector_recipe SET misses = misses + 1,
    recipe = CASE WHEN misses + 1 >= $4 THEN NULL ELSE recipe END, at = CASE WHEN misses + 1 >= $4 THEN now() ELSE at END
  WHERE team_id = $1 AND host = $2 AND wish = $3 AND recipe IS NOT NULL`;
const HOLD = 'UPDATE selector_recipe SET misses = 0 WHERE team_id = $1 AND host = $2 AND wish = $3 AND misses > 0';
/** A team that asks for ever new wishes keeps the recipes that were written or confirmed last. */
const MAX_OF_TEAM = 5000;
const TRIM = `DELETE FROM selector_recipe WHERE team_id = $1 AND at < (
    SELECT at FROM selector_recipe WHERE team_id = $1 ORDER BY at DESC OFFSET $2 LIMIT 1)`;

export class SelectorRecipes {
  constructor(private readonly pool: pg.Pool) {}

  /** null: nothing was ever tried. */
  async find(key: RecipeKey): Promise<KeptRecipe | null> {
    const { rows } = await this.pool.query<KeptRecipe>({ name: 'recipe-find', text: FIND, values: valuesOf(key) });
    return rows[0] ?? null;
  }

  /**
   * True for one caller: it writes the recipe. Again after `retryAfterMs` while there is none.
   */
  async claim(key: RecipeKey, retryAfterMs: number): Promise<boolean> {
    const values = [...valuesOf(key), retryAfterMs / 1000];
    const { rowCount } = await this.pool.query({ name: 'recipe-claim', text: CLAIM, values });
    if (rowCount !== 1) return false;
    await this.pool.query({ name: 'recipe-trim', text: TRIM, values: [key.team, MAX_OF_TEAM] });
    return true;
  }

  /** Keeps a recipe that holds, for the first time or on one more sample. */
  async keep(key: RecipeKey, recipe: SelectorRecipe): Promise<void> {
    const values = [...valuesOf(key), storableJson(recipe)];
    await this.pool.query({ name: 'recipe-keep', text: KEEP, values });
  }

  /** Notes that it failed on a page. After `most` failures in a row it is deleted. */
  async miss(key: RecipeKey, most: number): Promise<void> {
    await this.pool.query({ name: 'recipe-miss', text: MISS, values: [...valuesOf(key), most] });
  }

  /** Notes that it held on a page. */
  async hold(key: RecipeKey): Promise<void> {
    await this.pool.query({ name: 'recipe-hold', text: HOLD, values: valuesOf(key) });
  }
}

function valuesOf({ team, host, wish }: RecipeKey): unknown[] {
  return [team, host, Buffer.from(wish)];
}
