/** Keeps this fetcher on the boards by which processes of the cluster see each other. */
import { Inject, Injectable, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { CancelBoard, MemberBoard, NatsLink, PauseBoard, PenaltyBoard, SlotBoard } from '@troupe/messaging';
import type { BrowsersHere } from './browsers-here.js';
import { OtherBrowsers } from './other-browsers.js';
import { BROWSERS_HERE, INSTANCE } from './process.js';

/** Kind under which fetchers with a browser are members a second time. */
export const BROWSER_KIND = 'browser';

@Injectable()
export class Boards implements OnModuleInit, BeforeApplicationShutdown {
  private readonly browserMember: MemberBoard | null;

  constructor(
    private readonly members: MemberBoard,
    private readonly penalties: PenaltyBoard,
    private readonly cancels: CancelBoard,
    private readonly pauses: PauseBoard,
    private readonly slots: SlotBoard,
    private readonly browsers: OtherBrowsers,
    @Inject(INSTANCE) private readonly instance: string,
    @Inject(BROWSERS_HERE) here: BrowsersHere,
    link: NatsLink,
  ) {
    this.browserMember = here.browsers === null ? null : new MemberBoard(link);
  }

  async onModuleInit(): Promise<void> {
    await Promise.all([
      this.members.start({ id: this.instance, kind: 'fetcher' }),
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
    const { members, browserMember, penalties, cancels, pauses } = this;
    await Promise.all([members.stop(), browserMember?.stop(), penalties.stop(), cancels.stop(), pauses.stop()]);
  }
}
