/** The process, and its connections to the rest of the cluster, for all parts. */
import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { BlobGatherer, openBlobs, type OpenBlobs } from '@troupe/blob-store';
import {
  ActorBus,
  CancelBoard,
  MemberBoard,
  NatsLink,
  PauseBoard,
  PenaltyBoard,
  Rpc,
  SlotBoard,
} from '@troupe/messaging';
import { Metrics, watchLink, watchPool, type Logger } from '@troupe/observability';
import { createPool } from '@troupe/persistence';
import { Boards, BROWSER_KIND } from './boards.js';
import { OtherBrowsers } from './other-browsers.js';
import { CANCELS, EXPRESS_BOARD, LANE_SLOTS, MAILBOXES, PAUSES, STANDING } from './ports.js';
import {
  BROWSERS_HERE,
  CONFIG,
  HAS_BROWSER,
  INSTANCE,
  LOG,
  ROBOTS_AGENT,
  robotsAgentOf,
  TRACER,
  type Config,
  type FetcherProcess,
} from './process.js';
import { BLOBS, ERASABLE_BLOBS, POOL, RESULT_BLOBS, SNAPSHOT_BLOBS, Stores } from './stores.js';

/** Connections for robots.txt, the blocklist, the cache of pages and their histories. */
const POOL_SIZE = 4;
const UNSYNCED = 'BLOB_SYNC=off: a power cut may cost documents of results that are listed already';

const pool: Provider = {
  provide: POOL,
  useFactory: (config: Config, name: string, log: Logger, metrics: Metrics, link: NatsLink) => {
    const opened = createPool({ ...config, poolSize: POOL_SIZE, name, log });
    watchLink(metrics, link);
    watchPool(metrics, opened);
    return opened;
  },
  inject: [CONFIG, INSTANCE, LOG, Metrics, NatsLink],
};

const blobs: Provider = {
  provide: BLOBS,
  useFactory: (config: Config, log: Logger) => {
    if (config.blobStore === 'fs' && !config.blobSync) log.warn(UNSYNCED);
    return openBlobs(config);
  },
  inject: [CONFIG, LOG],
};

const BLOB_ROOTS: Provider[] = [
  { provide: RESULT_BLOBS, useFactory: ({ results }: OpenBlobs) => new BlobGatherer(results), inject: [BLOBS] },
  { provide: ERASABLE_BLOBS, useFactory: ({ erasable }: OpenBlobs) => erasable, inject: [BLOBS] },
  { provide: SNAPSHOT_BLOBS, useFactory: ({ snapshots }: OpenBlobs) => snapshots, inject: [BLOBS] },
];

const otherBrowsers: Provider = {
  provide: OtherBrowsers,
  useFactory: (members: MemberBoard, config: Config) =>
    new OtherBrowsers({
      isSeen: () => members.list().some(({ kind }) => kind === BROWSER_KIND),
      areOnDemand: config.browserOnDemand,
    }),
  inject: [MemberBoard, CONFIG],
};

const ADAPTERS: Provider[] = [
  pool,
  blobs,
  ...BLOB_ROOTS,
  ...[ActorBus, CancelBoard, MemberBoard, PauseBoard, PenaltyBoard, Rpc].map(overNats),
  {
    provide: SlotBoard,
    useFactory: (link: NatsLink, members: MemberBoard) => new SlotBoard(link, members),
    inject: [NatsLink, MemberBoard],
  },
  otherBrowsers,
  Boards,
  Stores,
];

const PORTS: Provider[] = [
  { provide: MAILBOXES, useExisting: ActorBus },
  { provide: LANE_SLOTS, useExisting: SlotBoard },
  { provide: EXPRESS_BOARD, useExisting: SlotBoard },
  { provide: STANDING, useExisting: MemberBoard },
  { provide: CANCELS, useExisting: CancelBoard },
  { provide: PAUSES, useExisting: PauseBoard },
];

@Module({})
export class ClusterModule {
  static with({ config, log, metrics, tracer, instance, link, here }: FetcherProcess): DynamicModule {
    const given: Provider[] = [
      { provide: CONFIG, useValue: config },
      { provide: LOG, useValue: log },
      { provide: Metrics, useValue: metrics },
      { provide: TRACER, useValue: tracer },
      { provide: INSTANCE, useValue: instance },
      { provide: NatsLink, useValue: link },
      { provide: BROWSERS_HERE, useValue: here },
      { provide: HAS_BROWSER, useValue: here.browsers !== null },
      { provide: ROBOTS_AGENT, useValue: robotsAgentOf(config) },
    ];
    const providers = [...given, ...ADAPTERS, ...PORTS];
    return { module: ClusterModule, global: true, providers, exports: providers };
  }
}

function overNats(adapter: new (link: NatsLink) => object): Provider {
  return { provide: adapter, useFactory: (link: NatsLink) => new adapter(link), inject: [NatsLink] };
}
