/** Keeps this fetcher on the boards by which processes of the cluster see each other. */
import { Inject, Injectable, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { CancelBoard, MemberBoard, NatsLink, PauseBoard, PenaltyBoard, SlotBoard, WorkQueue } from '@troupe/messaging';
import { INSTANCE } from '@troupe/service';
import type { BrowsersHere } from './browsers-here.js';
import { OtherBrowsers } from './other-browsers.js';
import { BROWSERS_HERE } from './process.js';

/** Kind under which fetchers with a browser are members a second time. */
export const BROWSER_KIND = 'browser';

@Injectable()
export class Boards implements OnModuleInit, BeforeApplicationShutdown {
  private readonly browserMember: MemberBoard | null;

  constructor(
    private readonly penalties: PenaltyBoard,
    private readonly cancels: CancelBoard,
    private readonly pauses: PauseBoard,
    private readonly slots: SlotBoard,
    private readonly browsers: OtherBrowsers,
    @Inject(INSTANCE) private readonly instance: string,
    @Inject(BROWSERS_HERE) here: BrowsersHere,
    private readonly link: NatsLink,
  ) {
    this.browserMember = here.browsers === null ? null : new MemberBoard(link);
  }

  async onModuleInit(): Promise<void> {
    await Promise.all([
      // Pages that need a browser are kept until a fetcher with one is there.
      new WorkQueue(this.link).prepare('browser'),
      this.browserMember?.start({ id: `${this.instance}.${BROWSER_KIND}`, kind: BROWSER_KIND }),
      this.penalties.start(),
      this.cancels.start(),
      this.pauses.start(),
    ]);
  }

  /** Runs when all users of the boards have ended: see `onModuleDestroy` of the parts. */
  async beforeApplicationShutdown(): Promise<void> {
    this.browsers.stop();
    await this.slots.stop();
    const { browserMember, penalties, cancels, pauses } = this;
    await Promise.all([browserMember?.stop(), penalties.stop(), cancels.stop(), pauses.stop()]);
  }
}
