/** Starts the gateway: Nest opens connections and builds services, then HTTP is served. */
import { setTimeout as sleep } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { type NestExpressApplication } from '@nestjs/platform-express';
import { leftOverSettings } from '@troupe/config';
import { NO_TRACES } from '@troupe/contracts';
import { type RunningService, type ServiceContext } from '@troupe/observability';
import { nestOptions, type Config } from '@troupe/service';
import { GatewayModule, serveDocs, StatusLane } from './gateway.module.js';
import { Readiness } from './health/readiness.js';
import { BODY_LIMIT_BYTES, createEdge, EdgeState, hasJsonBody, refuseBadBody } from './http/edge.js';
import { createRequestMetrics } from './http/request-metrics.js';
import { createRequestTraces } from './http/request-traces.js';
import { TimedExpress } from './http/timed-server.js';

/**
 * Longer than the idle time of common load balancers, so that the gateway never closes a connection that they still
 * use.
 */
const KEEP_ALIVE_MS = 75_000;

export async function startGateway(context: ServiceContext<Config>): Promise<RunningService> {
  const { config, log } = context;
  const leftOver = leftOverSettings();
  if (leftOver.length > 0)
    log.warn({ leftOver }, 'settings of Firecrawl without effect; docs/migrate-from-firecrawl.md');
  const app = await NestFactory.create<NestExpressApplication>(GatewayModule.of(context), new TimedExpress(config), {
    ...nestOptions(context),
    bodyParser: false,
  });
  await listen(app, context);
  return {
    url: await app.getUrl(),
    checks: app.get(Readiness).checks,
    async drain() {
      app.get(EdgeState).draining = true;
      // Readiness says no from now on: balancers send the next requests elsewhere, and those under way still arrive.
      await sleep(config.drainNoticeMs);
      await app.close();
    },
  };
}

async function listen(app: NestExpressApplication, { config, metrics, tracer }: ServiceContext<Config>): Promise<void> {
  const lane = app.get(StatusLane);
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.use(createRequestMetrics(metrics));
  app.use(createEdge(app.get(EdgeState), config));
  if (tracer !== NO_TRACES) app.use(createRequestTraces(tracer));
  app.use(lane.handle.bind(lane));
  app.useBodyParser('json', { limit: BODY_LIMIT_BYTES, strict: false, type: hasJsonBody });
  app.use(refuseBadBody);
  if (config.apiDocs) serveDocs(app);
  await app.listen(config.port, config.host);
  app.getHttpServer().keepAliveTimeout = KEEP_ALIVE_MS;
}
