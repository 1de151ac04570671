import { Module, type DynamicModule } from '@nestjs/common';
import { MemberBoard, NatsLink } from '@troupe/messaging';

/**
 * The dispatcher: on the bus and on the member board, and consumer of nothing yet. The consumer of webhook posts
 * joins here together with webhooks.
 */
@Module({})
export class DispatcherModule {
  static forLink(link: NatsLink, instance: string): DynamicModule {
    const board = {
      provide: MemberBoard,
      useFactory: async (): Promise<MemberBoard> => {
        const members = new MemberBoard(link);
        await members.start({ id: instance, kind: 'dispatcher' });
        return members;
      },
    };
    return { module: DispatcherModule, providers: [{ provide: NatsLink, useValue: link }, board] };
  }
}
