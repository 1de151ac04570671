import { NestFactory } from '@nestjs/core';
import type { TroupeConfig } from '@troupe/config';
import { LocalConverter } from '@troupe/conversion';
import { MemberBoard, NatsLink, type RpcServer } from '@troupe/messaging';
import { watchLink, type RunningService, type ServiceContext } from '@troupe/observability';
import { availableParallelism } from 'node:os';
import { ConverterModule, RPC_SERVER } from './converter.module.js';

/** Pages in work or waiting per thread: enough to hide the way over the bus, few enough that another replica helps. */
const PAGES_PER_THREAD = 4;

export async function startConverter({
  config,
  log,
  metrics,
  instance,
}: ServiceContext<Readonly<TroupeConfig>>): Promise<RunningService> {
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const link = await NatsLink.open({ server: config, name: instance, onProblem });
  await link.ensureTopology();
  watchLink(metrics, link);
  const threads = config.converterThreads || Math.max(1, availableParallelism() - 1);
  const ocrCommand = config.ocrCommand ?? null;
  const settings = { instance, metrics, threads, ocrCommand, capacity: threads * PAGES_PER_THREAD };
  const app = await NestFactory.createApplicationContext(ConverterModule.forLink(link, settings), {
    logger: ['error', 'warn'],
    abortOnError: false,
  });
  return {
    checks: { nats: () => link.ping() },
    async drain() {
      await app.get<RpcServer>(RPC_SERVER).stop();
      await app.get(LocalConverter).stop();
      await app.get(MemberBoard).stop();
      await app.close();
      await link.close();
    },
  };
}
