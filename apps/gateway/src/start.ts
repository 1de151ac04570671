/** Builds the gateway from its settings: connections first, then services, then HTTP. */
import path from 'node:path';
import { NestFactory } from '@nestjs/core';
import { type NestExpressApplication } from '@nestjs/platform-express';
import { FsBlobStore } from '@troupe/blob-store';
import { type TroupeConfig } from '@troupe/config';
import { gatewayGrantSubject, type Grant } from '@troupe/contracts';
import { parseAllowList } from '@troupe/egress';
import { ActorBus, CancelBoard, MemberBoard, NatsLink, Rpc } from '@troupe/messaging';
import { type RunningService, type ServiceContext } from '@troupe/observability';
import {
  AccountRepository,
  createDataSource,
  DeliveryRepository,
  Housekeeping,
  JobRepository,
  poolOf,
  ScrapeRepository,
} from '@troupe/persistence';
import { Accounts } from './auth/accounts.js';
import { GatewayModule, type GatewayParts } from './gateway.module.js';
import { Readiness } from './health/readiness.js';
import { BODY_LIMIT_BYTES, createEdge, refuseBadBody, type EdgeState } from './http/edge.js';
import { CommandPublisher } from './jobs/command-publisher.js';
import { DeliveriesService } from './jobs/deliveries.service.js';
import { JobCancelService } from './jobs/job-cancel.service.js';
import { JobStatusService } from './jobs/job-status.service.js';
import { JobSubmitService } from './jobs/job-submit.service.js';
import { MapService } from './jobs/map.service.js';
import { NatsListener } from './jobs/nats-listener.js';
import { PageBytes } from './jobs/page-bytes.js';
import { ProgressWatch } from './jobs/progress-watch.js';
import { ScrapeArchive } from './jobs/scrape-archive.js';
import { ScrapeService } from './jobs/scrape.service.js';
import { TargetPolicy } from './jobs/target-policy.js';
import { TeamTokens } from './jobs/team-tokens.js';
import { UsageLog } from './jobs/usage-log.js';
import { WebhookPolicy } from './jobs/webhook-policy.js';

type Config = Readonly<TroupeConfig>;
type Context = ServiceContext<Config>;

const POOL_SIZE = 8;
/** Longer than the idle time of common load balancers, so that it is never us who closes a connection they still use. */
const KEEP_ALIVE_MS = 75_000;

export async function startGateway(context: Context): Promise<RunningService> {
  const connections = await connect(context);
  const state: EdgeState = { draining: false };
  const services = buildServices(context, connections, state);
  await services.parts.accounts.prepare();
  services.start();
  const app = await listen(context.config, services.parts, state);
  return {
    url: await app.getUrl(),
    checks: services.parts.readiness.checks,
    async drain() {
      state.draining = true;
      services.watch.close();
      await app.close();
      await services.stop();
      await connections.close();
    },
  };
}

async function connect({ config, instance }: Context) {
  const link = await NatsLink.open({ url: config.natsUrl, name: instance });
  await link.ensureTopology();
  const dataSource = createDataSource({ databaseUrl: config.databaseUrl, poolSize: POOL_SIZE, name: instance });
  await dataSource.initialize();
  const housekeeping = new Housekeeping(poolOf(dataSource));
  await housekeeping.checkMigrations();
  const members = new MemberBoard(link);
  await members.start({ id: instance, kind: 'gateway' });
  const close = async () => {
    await members.stop();
    await dataSource.destroy();
    await link.close();
  };
  return { link, dataSource, housekeeping, close };
}

type Connections = Awaited<ReturnType<typeof connect>>;

function buildServices(
  { config, instance, log }: Context,
  { link, dataSource, housekeeping }: Connections,
  state: EdgeState,
) {
  const pool = poolOf(dataSource);
  const jobs = new JobRepository(dataSource, { resultTtlHours: config.resultTtlHours });
  const documents = new ScrapeRepository(pool);
  const publisher = new ActorBus(link);
  const calls = new Rpc(link);
  const listener = new NatsListener(link);
  const watch = new ProgressWatch(listener);
  const tokens = new TeamTokens({ publisher, instance, log });
  const archive = new ScrapeArchive(documents, config.resultTtlHours, log);
  const commands = new CommandPublisher(jobs, publisher, log);
  const usage = new UsageLog(publisher, instance);
  const targets = new TargetPolicy(parseAllowList(config.allowPrivateTargets));
  const webhooks = new WebhookPolicy(parseAllowList(config.allowPrivateWebhooks));
  const pages = new PageBytes(new FsBlobStore(path.join(config.troupeDataDir, 'blobs')), jobs);
  const status = new JobStatusService(jobs, watch);
  const accounts = new Accounts(new AccountRepository(dataSource), {
    authMode: config.authMode,
    bootstrapKeys: config.troupeBootstrapKeys,
    concurrency: config.teamConcurrency,
  });
  const checks = {
    postgres: async () => void (await pool.query('SELECT 1')),
    nats: () => link.ping(),
    migrations: () => housekeeping.checkMigrations(),
  };
  const parts: GatewayParts = {
    config,
    log,
    accounts,
    readiness: new Readiness(checks, state),
    scrapes: new ScrapeService({ calls, link, tokens, usage, archive, targets, documents, pages }),
    maps: new MapService({ calls, link, usage, targets }),
    submit: new JobSubmitService({ jobs, link, commands, targets, webhooks }),
    status,
    cancel: new JobCancelService({ status, cancels: new CancelBoard(link), publisher, instance }),
    deliveries: new DeliveriesService({ status, deliveries: new DeliveryRepository(pool), publisher, instance }),
    pages,
    targets,
  };
  const start = () => {
    listener.listen<Grant>(gatewayGrantSubject(instance), (grant) => tokens.onGrant(grant));
    tokens.start();
    commands.start();
  };
  const stop = async () => {
    await Promise.all([tokens.stop(), archive.drain(), commands.stop()]);
  };
  return { parts, watch, start, stop };
}

async function listen(config: Config, parts: GatewayParts, state: EdgeState): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(GatewayModule.of(parts), {
    logger: ['error', 'warn'],
    bodyParser: false,
    abortOnError: false,
  });
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.use(createEdge(state));
  app.useBodyParser('json', { limit: BODY_LIMIT_BYTES, strict: false });
  app.use(refuseBadBody);
  await app.listen(config.port, config.host);
  app.getHttpServer().keepAliveTimeout = KEEP_ALIVE_MS;
  return app;
}
