import type { DynamicModule, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { AsyncMicroserviceOptions } from '@nestjs/microservices';
import { NatsLink, NatsStrategy, type NatsStrategyOptions } from '@troupe/messaging';
import type { RunningService } from '@troupe/observability';
import { Connections } from './connections.js';

export interface ListenOptions extends Pick<NatsStrategyOptions, 'expects' | 'activatesTraces'> {
  /** Is told first that the process ends, so that what the queues wait for comes to its end. */
  draining: Type<{ drain(): void }>;
}

/** Runs the controllers of a module over NATS: takes work when everything is there, ends when what it has taken is done. */
export async function listen(module: DynamicModule, { draining, ...options }: ListenOptions): Promise<RunningService> {
  const useFactory = (link: NatsLink) => ({ strategy: new NatsStrategy({ link, ...options }) });
  const app = await NestFactory.createMicroservice<AsyncMicroserviceOptions>(module, {
    inject: [NatsLink],
    useFactory,
    logger: ['error', 'warn'],
    abortOnError: false,
  });
  await app.listen();
  return {
    checks: app.get(Connections).checks(),
    async drain() {
      app.get(draining).drain();
      await app.close();
    },
  };
}
