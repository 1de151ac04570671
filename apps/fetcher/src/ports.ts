/**
 * What the fetcher needs of the cluster, as narrow as it uses it: the adapters of `@troupe/messaging` and
 * `@troupe/persistence` fit as they are, and tests put small fakes in their place.
 */
import type { Envelope } from '@troupe/contracts';
import type { CancelBoard, MemberBoard, PauseBoard, SlotBoard } from '@troupe/messaging';
import type { RobotsCache } from '@troupe/persistence';
import type { RobotsFile } from '@troupe/politeness';
import type { HostTreatment } from './slots/host-treatment.js';

/** `text`: rough size in characters, for those that gather messages. */
export interface Mailboxes {
  publishActor(envelope: Envelope, text?: number): Promise<void>;
}
export type LaneSlots = Pick<SlotBoard, 'claim' | 'renew' | 'release'>;
/** What the others know of this process. */
export type Standing = Pick<MemberBoard, 'isSurelySeen'>;
export type ExpressBoard = Pick<SlotBoard, 'claimExpress' | 'release'>;
export type Penalties = Pick<HostTreatment, 'stateOf' | 'pauseMs' | 'gapMs' | 'expressPlaces' | 'crawlDelayMs'>;
export type Cancels = Pick<CancelBoard, 'isCancelled' | 'onCancel'>;
export type Pauses = Pick<PauseBoard, 'newsSince'>;
export type RobotsStore = Pick<RobotsCache, 'get' | 'put'>;

/** Rules of any host. Rejects with RobotsUnreadableError, or the page's own failure, when they cannot be known. */
export interface RobotsLookup {
  rulesFor(url: string, signal: AbortSignal): Promise<RobotsFile>;
}
