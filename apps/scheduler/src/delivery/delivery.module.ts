import { Module } from '@nestjs/common';
import { CONFIG, type Config } from '@troupe/service';
import { deliveryActor } from './delivery.actor.js';

export const DELIVERY_ACTOR = Symbol('actor of deliveries');

@Module({
  providers: [
    {
      provide: DELIVERY_ACTOR,
      inject: [CONFIG],
      useFactory: ({ webhookRetryMs }: Config) => deliveryActor({ retryMs: webhookRetryMs }),
    },
  ],
  exports: [DELIVERY_ACTOR],
})
export class DeliveryModule {}
