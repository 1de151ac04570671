/** The fetcher put together: adapters at the bottom, what the controllers call at the top. */
import { Artifacts, BlobGatherer, openBlobs, type BlobStore } from '@troupe/blob-store';
import { secretsInEnvironment, type TroupeConfig } from '@troupe/config';
import { flightSubject, RPC, type Converter, type EngineName, type Tracer } from '@troupe/contracts';
import { LocalConverter, MeteredConverter, NatsConverter, type ConvertReplyHead } from '@troupe/conversion';
import { isBlockedHost, parseAllowList, Resolver } from '@troupe/egress';
import {
  ActorBus,
  CancelBoard,
  FlightBoard,
  MailBundler,
  MemberBoard,
  PauseBoard,
  PenaltyBoard,
  Rpc,
  SlotBoard,
  type NatsLink,
} from '@troupe/messaging';
import { watchLink, watchPool, type HealthChecks, type Logger, type Metrics } from '@troupe/observability';
import {
  BlockedHosts,
  ChangeHistory,
  createPool,
  HostSettings,
  OpenItems,
  PageCacheRepository,
  RobotsCache,
  TeamProxies,
} from '@troupe/persistence';
import { AdLists } from './ads/index.js';
import { findBrowsersHere, serves, type BrowsersHere } from './browsers-here.js';
import { ArtifactWriter } from './artifacts/artifact-writer.js';
import { CacheLookups, CacheWriter, Flights, KnownUrls, PageCache, type FlightQuestion } from './cache/index.js';
import { ChangeTracker } from './changes/change-tracker.js';
import { DiffThread } from './changes/diff-thread.js';
import {
  BrowserEngine,
  BrowserPool,
  browserConcurrency,
  EgressProxy,
  GotEngine,
  HttpEngine,
  Ladder,
  loadBrowserStack,
  userAgentText,
  type FetchEngine,
} from './engines/index.js';
import { HostProbe } from './kickoff/host-probe.js';
import { KickRunner } from './kickoff/kick-runner.js';
import { SitemapKick } from './kickoff/sitemap-kick.js';
import { LaneConsumer } from './lanes/lane.consumer.js';
import { SitemapFinder } from './map/sitemap-finder.js';
import { SiteMapper } from './map/site-mapper.js';
import { PageModels } from './models/page-models.js';
import { cacheCounts, flightCounts } from './metrics/cache-counts.js';
import { browserCounts, watchBrowsers } from './metrics/browser-counts.js';
import { FetchCounts, MeteredEngine } from './metrics/metered-engine.js';
import { politenessCounts } from './metrics/politeness-counts.js';
import { OtherBrowsers } from './other-browsers.js';
import { PageFetcher, type Engines } from './pages/page-fetcher.js';
import { LinkPatterns } from './pages/link-patterns.js';
import { PageFinisher } from './pages/page-finisher.js';
import { ProxiedEngine, ProxyPools, StealthHosts } from './proxies/index.js';
import { RobotsJudge } from './robots/robots-judge.js';
import { RobotsRules } from './robots/robots-rules.js';
import { ScrapeRunner } from './scrape/scrape-runner.js';
import { SinglePages } from './scrape/single-pages.js';
import { DelayNews } from './slots/delay-news.js';
import { ExpressFetch } from './slots/express-fetch.js';
import { ExpressSlots } from './slots/express-slots.js';
import { HostReports } from './slots/host-reports.js';
import { HostTreatment } from './slots/host-treatment.js';
import { SlotClock } from './slots/slot-clock.js';

export interface FetcherContext {
  config: Readonly<TroupeConfig>;
  log: Logger;
  metrics: Metrics;
  tracer: Tracer;
  instance: string;
  link: NatsLink;
}

/** robots.txt, the blocklist, the cache of pages and their histories. */
const POOL_SIZE = 4;
/** Of other fetchers, which wait for pages that are fetched here: each of them waits a moment and costs next to nothing. */
const FLIGHT_QUESTIONS = 10_000;
const CONVERT_TIMEOUT_MS = 30_000;
const EXPOSED =
  'secrets in the environment of a process that starts browsers can be read by all processes of its user; give them as files ' +
  '(<NAME>_FILE, TROUPE_SECRETS_DIR)';
const UNSYNCED = 'BLOB_SYNC=off: a power cut may cost documents of results that are listed already';
/** Kind under which fetchers with a browser are members a second time. */
const BROWSER_KIND = 'browser';

export class FetcherParts {
  private constructor(
    readonly lanes: LaneConsumer,
    readonly kicks: KickRunner,
    readonly mapper: SiteMapper,
    readonly scrapes: ScrapeRunner,
    readonly robots: RobotsJudge,
    /** It takes pages of any kind, robots.txt, sitemaps and maps; else only pages that need a browser. */
    readonly servesHttp: boolean,
    /** Pages that the browser opens at once, 0 without one. */
    readonly browserPages: number,
    readonly checks: HealthChecks,
    /** Closes everything, in order. Call it when nothing runs any more. */
    readonly close: () => Promise<void>,
  ) {}

  static async create(context: FetcherContext): Promise<FetcherParts> {
    const { config, instance, log, metrics, tracer } = context;
    const pool = createPool({ ...config, poolSize: POOL_SIZE, name: instance, log });
    watchLink(metrics, context.link);
    watchPool(metrics, pool);
    const blocklist = await BlockedHosts.watch(pool, (error) => log.warn({ err: error }, 'the blocklist was not read'));
    const adLists = new AdLists(config.adListsDir ?? null);
    if (config.adListsDir !== undefined) await adLists.filter();
    const teamProxies = await TeamProxies.watch(pool, (error) =>
      log.warn({ err: error }, 'the proxies of the teams were not read'),
    );
    const roots = await openBlobs(config);
    const here = await findBrowsersHere(config, log);
    const exposed = here.browsers === null ? [] : secretsInEnvironment();
    if (exposed.length > 0) log.warn(`${exposed.join(', ')}: ${EXPOSED}`);
    if (config.blobStore === 'fs' && !config.blobSync) log.warn(UNSYNCED);
    const { engines, proxies, browserPages, closeEngines } = createEngines(context, {
      here,
      blocklist,
      teamProxies,
      adLists,
      files: createArtifactWriter(config, roots.artifacts),
    });
    const hasBrowser = browserPages > 0;
    const servesHttp = serves(config, 'http');
    // Who shows pages and does nothing else will need it at once; nobody waits for this process yet.
    if (!servesHttp && hasBrowser) await loadBrowserStack();
    const boards = await startBoards(context, hasBrowser);
    const { converter, stopConverter } = createConverter(context);
    const { slots, standing, cancels, pauses, browsers } = boards;
    const settings = await HostSettings.watch(pool, (error) =>
      log.warn({ err: error }, 'the settings of hosts were not read'),
    );
    const penalties = new HostTreatment({
      board: boards.penalties,
      settings,
      expressConn: config.hostExpressConn,
      maxCrawlDelayMs: config.hostMaxCrawlDelay * 1000,
    });
    const mailboxes = new ActorBus(context.link);
    const reports = new HostReports({ mailboxes, penalties, instance, log });
    const express = new ExpressSlots({ board: slots, penalties, instance, log });
    const fetch = new ExpressFetch({ engine: engines.http, express, penalties, reports });
    const robots = new RobotsRules({ store: new RobotsCache(pool), fetch, log });
    const { cache, writer } = createCache({ config, log, metrics, pool, blobs: roots.cache });
    const differ = new DiffThread();
    const changes = new ChangeTracker({
      history: new ChangeHistory(pool),
      blobs: roots.snapshots,
      differ,
      historyHours: config.changeHistoryHours,
      log,
    });
    const pages = new PageFetcher(engines, new Ladder({ hasBrowser }), converter, {
      hasExit: (team) => proxies.hasStealthExit(team),
      hosts: new StealthHosts(),
    });
    const rpc = new Rpc(context.link);
    const flights = new Flights({
      board: config.cacheMaxMb > 0 ? new FlightBoard(context.link, instance) : null,
      rpc,
      onShared: flightCounts(metrics),
      log,
    });
    const subject = flightSubject(instance);
    const flightServer = await rpc.serve(subject, { queue: subject, capacity: FLIGHT_QUESTIONS }, (question) =>
      flights.answer(question as FlightQuestion),
    );
    const finisher = new PageFinisher({ changes, models: new PageModels(rpc) });
    const single = new SinglePages({ pages, express, penalties, reports, robots, tracer });
    const common = { instance, mailboxes, cancels, pauses, robots };
    return new FetcherParts(
      new LaneConsumer(
        {
          ...common,
          mailboxes: new MailBundler(mailboxes, instance),
          slots,
          standing,
          penalties,
          express,
          reports,
          delays: new DelayNews({ mailboxes, instance, log }),
          clock: new SlotClock(undefined, politenessCounts(metrics)),
          pages,
          cache,
          finisher,
          blobs: new BlobGatherer(roots.results),
          erasable: roots.erasable,
          openItems: new OpenItems(pool),
          log,
          resultTtlHours: config.resultTtlHours,
          tracer,
          handsOver: () => !hasBrowser && browsers.areExpected(),
        },
        config.fetcherConcurrency,
      ),
      new KickRunner({
        ...common,
        sitemaps: new SitemapKick(fetch, robots),
        probe: new HostProbe({ engine: engines.http, express, reports }),
      }),
      new SiteMapper({
        single,
        sitemaps: new SitemapFinder(fetch, robots, productOf(config.userAgent)),
        known: new KnownUrls({ index: new PageCacheRepository(pool), log }),
        robotsAgent: productOf(config.userAgent),
        gapMs: config.hostGapMs,
      }),
      new ScrapeRunner({
        single,
        pages,
        cache,
        flights,
        instance,
        finisher,
        rpc,
        hasBrowser,
        browserElsewhere: () => browsers.areThere(),
        tracer,
      }),
      new RobotsJudge(robots, productOf(config.userAgent)),
      servesHttp,
      browserPages,
      {
        postgres: async () => void (await pool.query('SELECT 1')),
        blobs: () => roots.check(),
        ...(serves(config, 'browser') ? { browser: browserCheck(here.absence, servesHttp) } : {}),
      },
      async () => {
        await flightServer.stop();
        await reports.flush();
        await boards.stop();
        blocklist.stop();
        settings.stop();
        teamProxies.stop();
        await Promise.all([stopConverter(), closeEngines(), differ.stop(), writer.drain()]);
        roots.close();
        await pool.end();
      },
    );
  }
}

interface CacheContext extends Pick<FetcherContext, 'config' | 'log' | 'metrics'> {
  pool: ReturnType<typeof createPool>;
  blobs: BlobStore;
}

function createCache({ config, log, metrics, pool, blobs }: CacheContext): { cache: PageCache; writer: CacheWriter } {
  const index = new PageCacheRepository(pool);
  const writer = new CacheWriter({ index, blobs, maxBytes: config.cacheMaxMb * 1_000_000, log });
  const lookups = config.cacheMaxMb > 0 ? new CacheLookups(index) : null;
  return { cache: new PageCache({ lookups, writer, blobs, log, ...cacheCounts(metrics) }), writer };
}

interface EngineParts {
  here: BrowsersHere;
  blocklist: BlockedHosts;
  teamProxies: TeamProxies;
  adLists: AdLists;
  /** null: documents carry their files. */
  files: ArtifactWriter | null;
}

/** null: addresses are not wanted, or nobody knows where they would begin. */
function createArtifactWriter(config: Readonly<TroupeConfig>, blobs: BlobStore): ArtifactWriter | null {
  const { artifactUrls, blobStore, publicBaseUrl, resultTtlHours } = config;
  const isWanted = artifactUrls === 'on' || (artifactUrls === 'auto' && blobStore === 's3');
  if (!isWanted || publicBaseUrl === undefined) return null;
  return new ArtifactWriter({ artifacts: new Artifacts(blobs), publicBaseUrl, resultTtlHours });
}

function createEngines(
  { config, log, metrics, tracer }: FetcherContext,
  { here, blocklist, teamProxies, adLists, files }: EngineParts,
): {
  engines: Engines;
  proxies: ProxyPools;
  browserPages: number;
  closeEngines: () => Promise<void>;
} {
  const isBlocked = (host: string) => isBlockedHost(host, blocklist.hosts);
  const allow = { ...parseAllowList(config.allowPrivateTargets), isBlocked };
  const resolver = new Resolver({ servers: config.dnsServers, allow });
  const identity = { userAgent: config.userAgent, contactUrl: config.contactUrl ?? null };
  const proxy = new EgressProxy(resolver);
  const { browsers, absence, sandbox } = here;
  const places = browserConcurrency(config.browserConcurrency);
  const observer = browserCounts(metrics, sandbox?.isOn ?? null, log);
  const userAgent = userAgentText(identity);
  const pool = new BrowserPool({
    browsers,
    absence,
    ...(sandbox === null ? {} : { sandbox: { isOn: sandbox.isOn, isRequired: config.browserSandbox === 'require' } }),
    ...places,
    proxy,
    userAgent,
    observer,
  });
  if (browsers !== null) watchBrowsers(metrics, pool);
  const http = new HttpEngine({ resolver, allow, identity });
  const got = new GotEngine({ resolver, allow, proxy });
  const keeping = files === null ? {} : { files };
  const browser = new BrowserEngine({ pool, resolver, allow, adLists, tracer, ...keeping });
  const proxies = new ProxyPools({
    installation: { basic: config.proxyBasic, stealth: config.proxyStealth },
    listsOf: (team) => teamProxies.listsOf(team),
    resolver,
    log,
  });
  const counts = new FetchCounts(metrics);
  const outward = (name: EngineName, engine: FetchEngine) =>
    new MeteredEngine(new ProxiedEngine(engine, proxies), name, { counts, tracer });
  const closeEngines = async (): Promise<void> => {
    await Promise.all([http.close(), got.close(), browser.close()]);
    await proxy.close();
  };
  const engines = { http: outward('http', http), got: outward('got', got), browser: outward('browser', browser) };
  return { engines, proxies, browserPages: browser.isAvailable ? places.concurrency : 0, closeEngines };
}

async function startBoards({ config, link, instance }: FetcherContext, hasBrowser: boolean) {
  const members = new MemberBoard(link);
  const own = hasBrowser ? new MemberBoard(link) : null;
  const penalties = new PenaltyBoard(link);
  const cancels = new CancelBoard(link);
  const pauses = new PauseBoard(link);
  await Promise.all([
    members.start({ id: instance, kind: 'fetcher' }),
    own?.start({ id: `${instance}.${BROWSER_KIND}`, kind: BROWSER_KIND }),
    penalties.start(),
    cancels.start(),
    pauses.start(),
  ]);
  const slots = new SlotBoard(link, members);
  const browsers = new OtherBrowsers({
    isSeen: () => members.list().some(({ kind }) => kind === BROWSER_KIND),
    areOnDemand: config.browserOnDemand,
  });
  return {
    standing: members,
    penalties,
    cancels,
    pauses,
    slots,
    browsers,
    stop: async () => {
      browsers.stop();
      await slots.stop();
      await Promise.all([members.stop(), own?.stop(), penalties.stop(), cancels.stop(), pauses.stop()]);
    },
  };
}

function createConverter({ config, link, metrics, tracer }: FetcherContext): {
  converter: Converter;
  stopConverter: () => Promise<void>;
} {
  const withPatterns = (converter: Converter) => new LinkPatterns(new MeteredConverter(converter, metrics, tracer));
  if (config.converter === 'local') {
    const converter = new LocalConverter({
      threads: config.converterThreads,
      ocrCommand: config.ocrCommand ?? null,
    });
    converter.start();
    return { converter: withPatterns(converter), stopConverter: () => converter.stop() };
  }
  const rpc = new Rpc(link);
  const converter = new NatsConverter(
    (head, body, options) => rpc.call<ConvertReplyHead>(RPC.convert, head, body, options),
    {
      timeoutMs: CONVERT_TIMEOUT_MS,
    },
  );
  return { converter: withPatterns(converter), stopConverter: () => Promise.resolve() };
}

/** A fetcher that is to do nothing but show pages is of no use without a browser. */
function browserCheck(absence: string, servesHttp: boolean): HealthChecks[string] {
  const check = async (): Promise<void> => {
    if (absence !== '') throw new Error(absence);
  };
  return servesHttp ? { optional: check } : check;
}

/** `Troupe/0.1` -> `Troupe`: the name that robots.txt is matched against. */
function productOf(userAgent: string): string {
  return userAgent.split(/[/\s]/)[0] ?? userAgent;
}
