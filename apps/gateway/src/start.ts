/** Builds the gateway from its settings: connections first, then services, then HTTP. */
import { setTimeout as sleep } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { type NestExpressApplication } from '@nestjs/platform-express';
import { Artifacts, openBlobs } from '@troupe/blob-store';
import { leftOverSettings, type TroupeConfig } from '@troupe/config';
import { gatewayGrantSubject, NO_TRACES, SUBJECTS, type Grant, type Uuid } from '@troupe/contracts';
import { isBlockedHost, parseAllowList } from '@troupe/egress';
import { ActorBus, CancelBoard, GroupCall, MemberBoard, NatsLink, PauseBoard, Rpc } from '@troupe/messaging';
import { watchLink, watchPool, type RunningService, type ServiceContext } from '@troupe/observability';
import {
  AccountRepository,
  AuditLog,
  BlockedHosts,
  BlocklistRepository,
  checkPostgres,
  createPool,
  DeliveryRepository,
  DeadLetterRepository,
  HostRepository,
  HostSettingRepository,
  Housekeeping,
  JobCommandRepository,
  JobRepository,
  LostJobRepository,
  LedgerRepository,
  ModelSteps,
  RateCounter,
  type RateTotal,
  ScrapeRepository,
  TeamAdminRepository,
  UsageRepository,
} from '@troupe/persistence';
import { createSearchProvider } from '@troupe/search';
import { AccountService } from './accounts/account.service.js';
import { TeamActivity, type Activity } from './accounts/team-activity.js';
import { DeadLettersService } from './admin/dead-letters.service.js';
import { HostsService } from './admin/hosts.service.js';
import { ArtifactService } from './artifacts/artifact.service.js';
import { Accounts } from './auth/accounts.js';
import { ApiExceptionFilter } from './errors/api-exception.filter.js';
import { createStatusLane, GatewayModule, serveDocs, type GatewayParts } from './gateway.module.js';
import { Readiness } from './health/readiness.js';
import { BODY_LIMIT_BYTES, createEdge, hasJsonBody, refuseBadBody, type EdgeState } from './http/edge.js';
import { createRequestMetrics } from './http/request-metrics.js';
import { createRequestTraces } from './http/request-traces.js';
import { TimedExpress } from './http/timed-server.js';
import { BatchAppendService } from './jobs/batch-append.service.js';
import { CommandPublisher } from './jobs/command-publisher.js';
import { DeliveriesService } from './jobs/deliveries.service.js';
import { CrawlExplainService } from './jobs/crawl-explain.service.js';
import { CrawlWishesService } from './jobs/crawl-wishes.service.js';
import { CrawlPauseService } from './jobs/crawl-pause.service.js';
import { JobCancelService } from './jobs/job-cancel.service.js';
import { JobFeeds } from './jobs/job-feeds.js';
import { JobHostsService } from './jobs/job-hosts.service.js';
import { JobLedgerService } from './jobs/job-ledger.service.js';
import { JobStatusService } from './jobs/job-status.service.js';
import { JobSubmitService } from './jobs/job-submit.service.js';
import { lostDocuments } from './jobs/lost-documents.js';
import { MapService } from './jobs/map.service.js';
import { ModelJobs } from './jobs/model-jobs.service.js';
import { NatsListener } from './jobs/nats-listener.js';
import { PageBytes } from './jobs/page-bytes.js';
import { ResultRuns } from './jobs/result-runs.js';
import { ScrapeArchive } from './jobs/scrape-archive.js';
import { ScrapeService } from './jobs/scrape.service.js';
import { SearchService } from './search/search.service.js';
import { TargetPolicy } from './jobs/target-policy.js';
import { TeamTokens } from './jobs/team-tokens.js';
import { UsageLog } from './jobs/usage-log.js';
import { WebhookPolicy } from './jobs/webhook-policy.js';
import { CreditGate } from './limits/credit-gate.js';
import { RateLimits } from './limits/rate-limits.js';

type Config = Readonly<TroupeConfig>;
type Context = ServiceContext<Config>;

const POOL_SIZE = 8;
/** Longer than the idle time of common load balancers, so that it is never us who closes a connection they still use. */
const KEEP_ALIVE_MS = 75_000;

export async function startGateway(context: Context): Promise<RunningService> {
  const leftOver = leftOverSettings();
  if (leftOver.length > 0)
    context.log.warn({ leftOver }, 'settings of Firecrawl without effect; docs/migrate-from-firecrawl.md');
  const connections = await connect(context);
  const state: EdgeState = { draining: false };
  const services = buildServices(context, connections, state);
  await services.parts.accounts.prepare();
  services.start();
  const app = await listen(context, services.parts, state);
  return {
    url: await app.getUrl(),
    checks: services.parts.readiness.checks,
    async drain() {
      state.draining = true;
      // Readiness says no from now on: balancers send the next requests elsewhere, and those under way still arrive.
      await sleep(context.config.drainNoticeMs);
      services.feeds.close();
      await app.close();
      await services.stop();
      await connections.close();
    },
  };
}

async function connect({ config, instance, log, metrics, tracer }: Context) {
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const link = await NatsLink.open({ server: config, name: instance, onProblem, tracer });
  await link.ensureTopology();
  const pool = createPool({ ...config, poolSize: POOL_SIZE, name: instance, log });
  watchLink(metrics, link);
  watchPool(metrics, pool);
  const housekeeping = new Housekeeping(pool);
  await housekeeping.checkMigrations();
  const blocklist = await BlockedHosts.watch(pool, (error) => log.warn({ err: error }, 'the blocklist was not read'));
  const members = new MemberBoard(link);
  await members.start({ id: instance, kind: 'gateway' });
  const provider = await createSearchProvider(config);
  const blobs = await openBlobs(config);
  const close = async () => {
    blobs.close();
    await provider?.close();
    await members.stop();
    blocklist.stop();
    await pool.end();
    await link.close();
  };
  return { link, pool, housekeeping, blocklist, members, provider, blobs, close };
}

type Connections = Awaited<ReturnType<typeof connect>>;

function buildServices(
  { config, instance, log, metrics, tracer }: Context,
  { link, pool, housekeeping, blocklist, members, provider, blobs }: Connections,
  state: EdgeState,
) {
  const jobs = new JobRepository(pool, { resultTtlHours: config.resultTtlHours });
  const documents = new ScrapeRepository(pool);
  const hosts = new HostRepository(pool);
  const audit = new AuditLog(pool);
  const publisher = new ActorBus(link);
  const calls = new Rpc(link);
  const listener = new NatsListener(link);
  const feeds = new JobFeeds(jobs, listener);
  const tokens = new TeamTokens({ publisher, instance, log });
  const archive = new ScrapeArchive(documents, config.resultTtlHours, log);
  const lost = new LostJobRepository(pool, config);
  const commands = new CommandPublisher({ jobs, lost, publisher, log });
  const usage = new UsageLog(publisher, instance, tracer);
  const webhooks = new WebhookPolicy(parseAllowList(config.allowPrivateWebhooks));
  const isBlocked = (host: string) => isBlockedHost(host, blocklist.hosts);
  const targets = new TargetPolicy({ ...parseAllowList(config.allowPrivateTargets), isBlocked });
  const consumption = new UsageRepository(pool);
  const credits = new CreditGate({ usage: consumption, isOn: config.billing });
  const news = {
    publish: (totals: RateTotal[]) => publisher.notify(SUBJECTS.rateTotals, totals),
    listen: (onTotals: (totals: RateTotal[]) => void) => void listener.listen(SUBJECTS.rateTotals, onTotals),
  };
  const rateLimits = config.rateLimits ? new RateLimits({ counter: new RateCounter(pool), news, log }) : null;
  const activity = new TeamActivity({
    call: new GroupCall<Uuid, Activity>(link, SUBJECTS.teamActivity),
    tokens,
    gateways: () => members.list().filter(({ kind }) => kind === 'gateway').length,
  });
  const pages = new PageBytes(blobs.results, jobs, lostDocuments(metrics, log));
  const runs = new ResultRuns(jobs, pages, config.statusCacheMb * 1024 * 1024);
  const status = new JobStatusService({ jobs, runs, feeds });
  const accounts = new Accounts(new AccountRepository(pool), {
    authMode: config.authMode,
    bootstrapKeys: config.troupeBootstrapKeys,
    concurrency: config.teamConcurrency,
    log,
  });
  const submit = new JobSubmitService({ jobs, link, commands, targets, webhooks, credits, work: consumption, tracer });
  const jobCommands = { status, link, commands, jobs: new JobCommandRepository(pool, config) };
  const checks = {
    postgres: () => checkPostgres(pool),
    nats: () => link.ping(),
    migrations: () => housekeeping.checkMigrations(),
    // Without it results beyond the inline size cannot be read; everything else goes on.
    blobs: { optional: () => blobs.check() },
  };
  const scrapes = new ScrapeService({
    calls,
    link,
    tokens,
    usage,
    archive,
    targets,
    credits,
    documents,
    pages,
    tracer,
  });
  const cancel = new JobCancelService({
    status,
    cancels: new CancelBoard(link),
    children: jobs,
    jobs: jobCommands.jobs,
    commands,
  });
  const parts: GatewayParts = {
    config,
    log,
    accounts,
    readiness: new Readiness(checks, state),
    deliveries: new DeliveriesService({ status, deliveries: new DeliveryRepository(pool), publisher, instance }),
    scrapes,
    maps: new MapService({ calls, link, usage, targets, credits }),
    searches: new SearchService({ provider, scrapes, targets, link, usage, credits }),
    submit,
    status,
    cancel,
    modelJobs: new ModelJobs({ status, cancel, jobs, steps: new ModelSteps(pool) }),
    appends: new BatchAppendService({ ...jobCommands, submit }),
    pauses: new CrawlPauseService({ ...jobCommands, pauses: new PauseBoard(link) }),
    ledgers: new JobLedgerService({ status, ledgers: new LedgerRepository(pool) }),
    jobHosts: new JobHostsService({ status, hosts }),
    crawlWishes: new CrawlWishesService({ calls, link, targets }),
    explains: new CrawlExplainService({ calls, link, targets }),
    targets,
    rateLimits,
    artifacts: new ArtifactService(new Artifacts(blobs.artifacts)),
    account: new AccountService({ usage: consumption, activity, billing: config.billing }),
    admin: {
      teams: new TeamAdminRepository(pool),
      usage: consumption,
      audit,
      blocklist: new BlocklistRepository(pool),
      deadLetters: new DeadLettersService({ letters: new DeadLetterRepository(pool), publisher }),
      hosts: new HostsService({ hosts, settings: new HostSettingRepository(pool), audit, publisher, instance }),
    },
  };
  const start = () => {
    listener.listen<Grant>(gatewayGrantSubject(instance), (grant) => tokens.onGrant(grant));
    tokens.start();
    activity.start();
    rateLimits?.start();
    commands.start();
  };
  const stop = async () => {
    await Promise.all([tokens.stop(), archive.drain(), commands.stop(), rateLimits?.stop()]);
  };
  return { parts, feeds, start, stop };
}

async function listen(
  { config, metrics, tracer }: Context,
  parts: GatewayParts,
  state: EdgeState,
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(GatewayModule.of(parts), new TimedExpress(config), {
    logger: ['error', 'warn'],
    bodyParser: false,
    abortOnError: false,
  });
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.use(createRequestMetrics(metrics));
  app.use(createEdge(state, config));
  if (tracer !== NO_TRACES) app.use(createRequestTraces(tracer));
  app.use(createStatusLane(parts, new ApiExceptionFilter(parts.log)));
  app.useBodyParser('json', { limit: BODY_LIMIT_BYTES, strict: false, type: hasJsonBody });
  app.use(refuseBadBody);
  if (config.apiDocs) serveDocs(app);
  await app.listen(config.port, config.host);
  app.getHttpServer().keepAliveTimeout = KEEP_ALIVE_MS;
  return app;
}
