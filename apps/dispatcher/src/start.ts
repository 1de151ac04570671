import { NestFactory } from '@nestjs/core';
import type { MicroserviceOptions } from '@nestjs/microservices';
import { openBlobs } from '@troupe/blob-store';
import type { TroupeConfig } from '@troupe/config';
import { MemberBoard, NatsLink, NatsStrategy, SlotBoard } from '@troupe/messaging';
import { watchLink, watchPool, type RunningService, type ServiceContext } from '@troupe/observability';
import { createPool } from '@troupe/persistence';
import { DispatcherModule } from './dispatcher.module.js';
import { PostRunner } from './posts/post-runner.js';
import { Receivers } from './receivers/receivers.js';

const EXPECTED = ['work.post.hi', 'work.post.lo'];
const POOL_SIZE = 4;

export async function startDispatcher(context: ServiceContext<Readonly<TroupeConfig>>): Promise<RunningService> {
  const { config, log, metrics, tracer, instance } = context;
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const link = await NatsLink.open({ server: config, name: instance, onProblem, tracer });
  await link.ensureTopology();
  const pool = createPool({ ...config, poolSize: POOL_SIZE, name: instance, log });
  const blobs = await openBlobs(config);
  watchLink(metrics, link);
  watchPool(metrics, pool);
  const members = new MemberBoard(link);
  await members.start({ id: instance, kind: 'dispatcher' });
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(
    DispatcherModule.with({ config, metrics, tracer, instance, link, members, pool, blobs: blobs.results }),
    { strategy: new NatsStrategy({ link, expects: EXPECTED }), logger: ['error', 'warn'], abortOnError: false },
  );
  await app.listen();
  return {
    checks: {
      nats: () => link.ping(),
      postgres: async () => void (await pool.query('SELECT 1')),
      blobs: () => blobs.check(),
    },
    async drain() {
      app.get(PostRunner).drain();
      await app.close();
      await app.get(Receivers).close();
      await app.get(SlotBoard).stop();
      await members.stop();
      await link.close();
      await pool.end();
      blobs.close();
    },
  };
}
