import { NestFactory } from '@nestjs/core';
import type { RunningService, ServiceContext } from '@troupe/observability';
import { Connections, nestOptions, type Config } from '@troupe/service';
import { ConverterModule } from './converter.module.js';

export async function startConverter(context: ServiceContext<Config>): Promise<RunningService> {
  const app = await NestFactory.createApplicationContext(ConverterModule.of(context), nestOptions(context));
  return { checks: app.get(Connections).checks(), drain: () => app.close() };
}
