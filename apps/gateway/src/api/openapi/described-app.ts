import { NestFactory } from '@nestjs/core';
import type { ServiceContext } from '@troupe/observability';
import type { Config } from '@troupe/service';
import { GatewayModule } from '../../gateway.module.js';
import { describeApi } from './describe-api.js';

/**
 * The description without a running gateway: Nest's preview mode reads modules and controllers without creating their
 * providers, so that no database, no NATS and no port is needed.
 */
export async function describeGateway() {
  const context = new Proxy({}, { get: () => ({}) }) as ServiceContext<Config>;
  const app = await NestFactory.create(GatewayModule.of(context), {
    preview: true,
    logger: false,
    abortOnError: false,
  });
  try {
    return describeApi(app);
  } finally {
    await app.close();
  }
}
