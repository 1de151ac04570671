import { Module, type DynamicModule } from '@nestjs/common';
import { MemberBoard, NatsLink } from '@troupe/messaging';
import { MODELS } from './models/model.js';
import type { TeamModels } from './models/team-models.js';
import { CrawlPlanner } from './pages/crawl-planner.js';
import { PageModeler } from './pages/page-modeler.js';
import { PagesController } from './pages/pages.controller.js';
import { TaskController } from './tasks/task.controller.js';
import { TaskRunner } from './tasks/task-runner.js';

export interface ExtractorParts {
  instance: string;
  link: NatsLink;
  models: TeamModels;
  modeler: PageModeler;
  planner: CrawlPlanner;
  tasks: TaskRunner;
}

/** The extractor: work that needs a language model. */
@Module({})
export class ExtractorModule {
  static with({ instance, link, models, modeler, planner, tasks }: ExtractorParts): DynamicModule {
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
      controllers: [PagesController, TaskController],
      providers: [
        { provide: NatsLink, useValue: link },
        { provide: MODELS, useValue: models },
        { provide: PageModeler, useValue: modeler },
        { provide: CrawlPlanner, useValue: planner },
        { provide: TaskRunner, useValue: tasks },
        board,
      ],
    };
  }
}
