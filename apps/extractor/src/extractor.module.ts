import { Module, type DynamicModule } from '@nestjs/common';
import type { TroupeConfig } from '@troupe/config';
import { MemberBoard, NatsLink } from '@troupe/messaging';
import type { createPool } from '@troupe/persistence';
import { MODELS } from './models/model.js';
import type { TeamModels } from './models/team-models.js';

export interface ExtractorParts {
  instance: string;
  config: Readonly<TroupeConfig>;
  link: NatsLink;
  pool: ReturnType<typeof createPool>;
  models: TeamModels;
}

/** The extractor: work that needs a language model. */
@Module({})
export class ExtractorModule {
  static with({ instance, link, models }: ExtractorParts): DynamicModule {
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
      providers: [{ provide: NatsLink, useValue: link }, { provide: MODELS, useValue: models }, board],
    };
  }
}
