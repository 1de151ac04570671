import { Module } from '@nestjs/common';
import { CONFIG, type Config } from '@troupe/service';
import { MODELS, type Models } from '../models/model.js';
import { ModelsModule } from '../models/models.module.js';
import { RecipeBook } from '../recipes/recipe-book.js';
import { RecipesModule } from '../recipes/recipes.module.js';
import { CrawlPlanner } from './crawl-planner.js';
import { createCrawlPlanner, createPageModeler } from './create-pages.js';
import { PageModeler } from './page-modeler.js';
import { PagesController } from './pages.controller.js';

@Module({
  imports: [ModelsModule, RecipesModule],
  controllers: [PagesController],
  providers: [
    {
      provide: PageModeler,
      inject: [MODELS, CONFIG, RecipeBook],
      useFactory: (models: Models, config: Config, recipes: RecipeBook) => createPageModeler(models, config, recipes),
    },
    {
      provide: CrawlPlanner,
      inject: [MODELS, CONFIG],
      useFactory: (models: Models, config: Config) => createCrawlPlanner(models, config),
    },
  ],
  exports: [PageModeler],
})
export class PagesModule {}
