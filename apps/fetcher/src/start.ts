import { NestFactory } from '@nestjs/core';
import type { MicroserviceOptions } from '@nestjs/microservices';
import type { TroupeConfig } from '@troupe/config';
import { NatsLink, NatsStrategy, WorkQueue } from '@troupe/messaging';
import type { RunningService, ServiceContext } from '@troupe/observability';
import { expectedSubjects, FetcherModule } from './fetcher.module.js';
import { FetcherParts } from './fetcher.parts.js';

export async function startFetcher(context: ServiceContext<Readonly<TroupeConfig>>): Promise<RunningService> {
  const { config, log, metrics, tracer, instance } = context;
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const link = await NatsLink.open({ server: config, name: instance, onProblem, tracer });
  await link.ensureTopology();
  await new WorkQueue(link).prepare('browser');
  const parts = await FetcherParts.create({ config, log, metrics, tracer, instance, link });
  const { fetcherConcurrency } = config;
  const strategy = new NatsStrategy({
    link,
    maxInFlight: fetcherConcurrency,
    capacity: fetcherConcurrency,
    expects: expectedSubjects(parts),
  });
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(FetcherModule.with(parts), {
    strategy,
    logger: ['error', 'warn'],
    abortOnError: false,
  });
  await app.listen();
  if (parts.browserPages === 0 && config.fetcherClasses.length === 0)
    log.warn(
      'no browser found: pages that need scripts go to fetchers with one, or are fetched without (set CHROMIUM_PATH)',
    );
  return {
    checks: { nats: () => link.ping(), ...parts.checks },
    async drain() {
      // Nothing more is taken while what runs comes to its end.
      await Promise.all([app.close(), parts.lanes.drain()]);
      await parts.close();
      await link.close();
    },
  };
}
