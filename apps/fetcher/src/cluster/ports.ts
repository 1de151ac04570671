/**
 * The ports of the fetcher to the cluster, as narrow as it uses them: the adapters of `@troupe/messaging` and
 * `@troupe/persistence` fit as they are, and tests put small fakes in their place. Each port has its injection token.
 */
import type { Envelope, HostState } from '@troupe/contracts';
import type { CancelBoard, MemberBoard, PauseBoard, SlotBoard } from '@troupe/messaging';
import type { RobotsCache } from '@troupe/persistence';
import type { RobotsFile } from '@troupe/politeness';

/** `text`: rough size in characters, for those that gather messages. */
export interface Mailboxes {
  publishActor(envelope: Envelope, text?: number): Promise<void>;
}
export const MAILBOXES = Symbol('Mailboxes');
export type LaneSlots = Pick<SlotBoard, 'claim' | 'renew' | 'release'>;
export const LANE_SLOTS = Symbol('LaneSlots');
/** Whether the other processes still see this one. */
export type Standing = Pick<MemberBoard, 'isSurelySeen'>;
export const STANDING = Symbol('Standing');
export type ExpressBoard = Pick<SlotBoard, 'claimExpress' | 'release'>;
export const EXPRESS_BOARD = Symbol('ExpressBoard');
/** How a host is to be treated. */
export interface Penalties {
  stateOf(host: string): HostState;
  /** Milliseconds until the host may be asked again, 0 = now. */
  pauseMs(host: string): number;
  /** Least ms between starts on one connection because of what the host answered, 0 = none. */
  gapMs(host: string): number;
  /** Connections for single requests, over the whole cluster: as many fewer as the host is slowed. */
  expressPlaces(host: string): number;
  /** Milliseconds between page starts that the rules ask for, or an operator in their place; 0 = none. */
  crawlDelayMs(host: string, rules: Pick<RobotsFile, 'crawlDelayMs'>, agent: string): number;
}
export const PENALTIES = Symbol('Penalties');
export type Cancels = Pick<CancelBoard, 'isCancelled' | 'onCancel'>;
export const CANCELS = Symbol('Cancels');
export type Pauses = Pick<PauseBoard, 'newsSince'>;
export const PAUSES = Symbol('Pauses');
export type RobotsStore = Pick<RobotsCache, 'get' | 'put'>;
export const ROBOTS_STORE = Symbol('RobotsStore');

/** Rules of any host. Rejects with RobotsUnreadableError, or the page's own failure, when they cannot be known. */
export interface RobotsLookup {
  rulesFor(url: string, signal: AbortSignal): Promise<RobotsFile>;
}
export const ROBOTS_LOOKUP = Symbol('RobotsLookup');
