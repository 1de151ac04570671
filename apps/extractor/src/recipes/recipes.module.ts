import { Module } from '@nestjs/common';
import type { Logger } from '@troupe/observability';
import { SelectorRecipes, type LivePool } from '@troupe/persistence';
import { LOG, POOL } from '@troupe/service';
import { checkBySchema } from '../models/schema-check.js';
import { RecipeBook } from './recipe-book.js';

@Module({
  providers: [
    {
      provide: RecipeBook,
      inject: [POOL, LOG],
      useFactory: (pool: LivePool, log: Logger) => {
        const onProblem = (problem: string, error: unknown): void => log.warn({ err: error }, problem);
        return new RecipeBook({ recipes: new SelectorRecipes(pool), check: checkBySchema, onProblem });
      },
    },
  ],
  exports: [RecipeBook],
})
export class RecipesModule {}
