import { NestFactory } from '@nestjs/core';
import { GatewayModule } from '../../gateway.module.js';
import { type GatewayContext } from '../../infra/infra.module.js';
import { describeApi } from './describe-api.js';

/**
 * The description without a running gateway: Nest's preview mode reads modules and controllers without creating their
 * providers, so that no database, no NATS and no port is needed.
 */
export async function describeGateway() {
  const context = new Proxy({}, { get: () => ({}) }) as GatewayContext;
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
