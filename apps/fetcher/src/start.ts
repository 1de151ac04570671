import { NestFactory } from '@nestjs/core';
import type { MicroserviceOptions } from '@nestjs/microservices';
import type { TroupeConfig } from '@troupe/config';
import { NatsLink, NatsStrategy, WorkQueue } from '@troupe/messaging';
import type { RunningService, ServiceContext } from '@troupe/observability';
import { findBrowsersHere } from './cluster/browsers-here.js';
import { Stores } from './cluster/stores.js';
import { expectedSubjects, FetcherModule } from './fetcher.module.js';
import { LaneConsumer } from './lanes/lane.consumer.js';

const NO_BROWSER =
  'no browser found: pages that need scripts go to fetchers with one, or are fetched without (set CHROMIUM_PATH)';

export async function startFetcher(context: ServiceContext<Readonly<TroupeConfig>>): Promise<RunningService> {
  const { config, log, tracer, instance } = context;
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const link = await NatsLink.open({ server: config, name: instance, onProblem, tracer });
  await link.ensureTopology();
  await new WorkQueue(link).prepare('browser');
  const here = await findBrowsersHere(config, log);
  const fetcher = { ...context, link, here };
  const { fetcherConcurrency } = config;
  const strategy = new NatsStrategy({
    link,
    maxInFlight: fetcherConcurrency,
    capacity: fetcherConcurrency,
    expects: expectedSubjects(fetcher),
  });
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(FetcherModule.of(fetcher), {
    strategy,
    logger: ['error', 'warn'],
    abortOnError: false,
  });
  await app.listen();
  if (here.browsers === null && config.fetcherClasses.length === 0) log.warn(NO_BROWSER);
  const lanes = app.get(LaneConsumer, { strict: false });
  return {
    checks: { nats: () => link.ping(), ...app.get(Stores, { strict: false }).checks },
    async drain() {
      // No new work is taken while running work ends. Then every module closes what it has opened.
      await Promise.all([app.close(), lanes.drain()]);
      await link.close();
    },
  };
}
