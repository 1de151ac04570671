import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { parseAllowList, Resolver } from '@troupe/egress';
import { MemberBoard, NatsLink, ReceiverBoard, SlotBoard } from '@troupe/messaging';
import { Metrics } from '@troupe/observability';
import { CONFIG, INSTANCE, type Config } from '@troupe/service';
import { postCounts } from './post-counts.js';
import { ReceiverPlaces } from './receiver-places.js';
import { Receivers } from './receivers.js';

@Module({
  providers: [
    {
      provide: Receivers,
      inject: [CONFIG, Metrics],
      useFactory: ({ dnsServers: servers, allowPrivateWebhooks, userAgent }: Config, metrics: Metrics) => {
        const resolver = new Resolver({ servers, allow: parseAllowList(allowPrivateWebhooks) });
        return new Receivers({ resolver, userAgent, onAnswer: postCounts(metrics) });
      },
    },
    {
      provide: SlotBoard,
      inject: [NatsLink, MemberBoard],
      useFactory: (link: NatsLink, members: MemberBoard) => new SlotBoard(link, members),
    },
    {
      provide: ReceiverPlaces,
      inject: [INSTANCE, SlotBoard, NatsLink, CONFIG],
      useFactory: (instance: string, slots: SlotBoard, link: NatsLink, { webhookRestMs: restMs }: Config) =>
        new ReceiverPlaces({ instance, slots, board: new ReceiverBoard(link, { restMs }) }),
    },
  ],
  exports: [Receivers, ReceiverPlaces],
})
export class ReceiversModule implements OnApplicationShutdown {
  constructor(
    @Inject(Receivers) private readonly receivers: Receivers,
    @Inject(SlotBoard) private readonly slots: SlotBoard,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await this.receivers.close();
    await this.slots.stop();
  }
}
