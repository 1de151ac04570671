/** What several parts use of the cluster: boards, mailboxes, blobs. */
import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { BlobGatherer, type OpenBlobs } from '@troupe/blob-store';
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
import { BLOBS, CONFIG, overNats, type Config } from '@troupe/service';
import { Boards, BROWSER_KIND } from './boards.js';
import type { BrowsersHere } from './browsers-here.js';
import { OtherBrowsers } from './other-browsers.js';
import { CANCELS, EXPRESS_BOARD, LANE_SLOTS, MAILBOXES, PAUSES, STANDING } from './ports.js';
import {
  BROWSERS_HERE,
  ERASABLE_BLOBS,
  HAS_BROWSER,
  RESULT_BLOBS,
  ROBOTS_AGENT,
  robotsAgentOf,
  SNAPSHOT_BLOBS,
} from './process.js';

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
  ...BLOB_ROOTS,
  ...overNats(ActorBus, CancelBoard, PauseBoard, PenaltyBoard, Rpc),
  {
    provide: SlotBoard,
    useFactory: (link: NatsLink, members: MemberBoard) => new SlotBoard(link, members),
    inject: [NatsLink, MemberBoard],
  },
  otherBrowsers,
  Boards,
  { provide: ROBOTS_AGENT, useFactory: robotsAgentOf, inject: [CONFIG] },
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
  static with(here: BrowsersHere): DynamicModule {
    const given: Provider[] = [
      { provide: BROWSERS_HERE, useValue: here },
      { provide: HAS_BROWSER, useValue: here.browsers !== null },
    ];
    const providers = [...given, ...ADAPTERS, ...PORTS];
    return { module: ClusterModule, global: true, providers, exports: providers };
  }
}
