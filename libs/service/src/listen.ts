import type { DynamicModule, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { AsyncMicroserviceOptions } from '@nestjs/microservices';
import { NatsLink, NatsStrategy, type NatsStrategyOptions } from '@troupe/messaging';
import type { RunningService, ServiceContext } from '@troupe/observability';
import { Connections } from './connections.js';
import { nestOptions } from './nest-log.js';
import type { Config } from './tokens.js';

export interface ListenOptions extends Omit<NatsStrategyOptions, 'link'> {
  /** Is told first that the process ends, so that what the queues wait for comes to its end. */
  draining: Type<{ drain(): void | Promise<void> }>;
}

/** Runs the controllers of a module over NATS: takes work when everything is there, ends when what it has taken is done. */
export async function listen(
  module: DynamicModule,
  context: ServiceContext<Config>,
  { draining, ...options }: ListenOptions,
): Promise<RunningService> {
  const useFactory = (link: NatsLink) => ({ strategy: new NatsStrategy({ link, ...options }) });
  const app = await NestFactory.createMicroservice<AsyncMicroserviceOptions>(module, {
    inject: [NatsLink],
    useFactory,
    ...nestOptions(context),
  });
  await app.listen();
  return {
    checks: app.get(Connections).checks(),
    async drain() {
      await Promise.all([app.get(draining).drain(), app.close()]);
    },
  };
}
