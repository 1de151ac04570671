import { NestFactory } from '@nestjs/core';
import type { TroupeConfig } from '@troupe/config';
import { MemberBoard, NatsLink } from '@troupe/messaging';
import { watchLink, type RunningService, type ServiceContext } from '@troupe/observability';
import { ExtractorModule } from './extractor.module.js';

export async function startExtractor({
  config,
  metrics,
  instance,
}: ServiceContext<Readonly<TroupeConfig>>): Promise<RunningService> {
  const link = await NatsLink.open({ url: config.natsUrl, name: instance });
  await link.ensureTopology();
  watchLink(metrics, link);
  const app = await NestFactory.createApplicationContext(ExtractorModule.forLink(link, instance), {
    logger: ['error', 'warn'],
    abortOnError: false,
  });
  return {
    checks: { nats: () => link.ping() },
    async drain() {
      await app.get(MemberBoard).stop();
      await app.close();
      await link.close();
    },
  };
}
