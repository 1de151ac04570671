import { Module, type DynamicModule } from '@nestjs/common';
import type { TroupeConfig } from '@troupe/config';
import { MemberBoard, NatsLink } from '@troupe/messaging';
import type { createPool } from '@troupe/persistence';
import { MODELS } from './models/model.js';
import type { TeamModels } from './models/team-models.js';
import { createCrawlPlanner, createPageModeler } from './pages/create-pages.js';
import { CrawlPlanner } from './pages/crawl-planner.js';
import { PageModeler } from './pages/page-modeler.js';
import { PagesController } from './pages/pages.controller.js';
import type { RecipeBook } from './recipes/recipe-book.js';

export interface ExtractorParts {
  instance: string;
  config: Readonly<TroupeConfig>;
  link: NatsLink;
  pool: ReturnType<typeof createPool>;
  models: TeamModels;
  recipes: RecipeBook;
}

/** The extractor: work that needs a language model. */
@Module({})
export class ExtractorModule {
  static with({ instance, config, link, models, recipes }: ExtractorParts): DynamicModule {
    const board = {
      provide: MemberBoard,
      useFactory: async (): Promise<MemberBoard> => {
        const members = new MemberBoard(link);
        await members.start({ id: instance, kind: 'extractor' });
        return members;
      },
    };
    return {
      module: ExtractorModule,
      controllers: [PagesController],
      providers: [
        { provide: NatsLink, useValue: link },
        { provide: MODELS, useValue: models },
        { provide: PageModeler, useValue: createPageModeler(models, config, recipes) },
        { provide: CrawlPlanner, useValue: createCrawlPlanner(models, config) },
        board,
      ],
    };
  }
}
