import { Module, type DynamicModule } from '@nestjs/common';
import { MemberBoard, NatsLink } from '@troupe/messaging';

/**
 * The extractor: on the bus and on the member board, and consumer of nothing yet. The consumer of LLM tasks
 * joins here together with extract jobs.
 */
@Module({})
export class ExtractorModule {
  static forLink(link: NatsLink, instance: string): DynamicModule {
    const board = {
      provide: MemberBoard,
      useFactory: async (): Promise<MemberBoard> => {
        const members = new MemberBoard(link);
        await members.start({ id: instance, kind: 'extractor' });
        return members;
      },
    };
    return { module: ExtractorModule, providers: [{ provide: NatsLink, useValue: link }, board] };
  }
}
