/** The treatment of a host by this process: its actor's decisions, and the operators' settings. */
import type { HostSetting, HostState } from '@troupe/contracts';
import type { PenaltyBoard } from '@troupe/messaging';
import type { RobotsFile } from '@troupe/politeness';
import type { Penalties } from '../cluster/ports.js';

export interface HostTreatmentOptions {
  board: Pick<PenaltyBoard, 'of'>;
  settings: { settingOf(host: string): HostSetting | null };
  /** Express places per host where nothing else is set. */
  expressConn: number;
  /** Longest crawl-delay that is obeyed, in ms. */
  maxCrawlDelayMs: number;
}

/** A host that is down or held is looked at again after this time at the earliest. */
const LOOK_AGAIN_MS = 1000;
/** Settings are read again every few seconds. */
const HOLD_MS = 5000;

export class HostTreatment implements Penalties {
  constructor(private readonly options: HostTreatmentOptions) {}

  stateOf(host: string): HostState {
    if (this.isHeld(host)) return 'held';
    const { state, restMs } = this.options.board.of(host);
    return state === 'paused' && restMs === 0 ? 'open' : state;
  }

  pauseMs(host: string): number {
    if (this.isHeld(host)) return HOLD_MS;
    const { state, restMs } = this.options.board.of(host);
    return state === 'down' || state === 'held' ? Math.max(restMs, LOOK_AGAIN_MS) : restMs;
  }

  gapMs(host: string): number {
    return this.options.board.of(host).gapMs;
  }

  expressPlaces(host: string): number {
    const places = this.options.settings.settingOf(host)?.expressConn ?? this.options.expressConn;
    return Math.max(1, Math.round(places * this.options.board.of(host).share));
  }

  crawlDelayMs(host: string, rules: Pick<RobotsFile, 'crawlDelayMs'>, agent: string): number {
    const setting = this.options.settings.settingOf(host)?.crawlDelay;
    if (typeof setting === 'number') return setting * 1000;
    return Math.min(rules.crawlDelayMs(agent) ?? 0, this.options.maxCrawlDelayMs);
  }

  private isHeld(host: string): boolean {
    return this.options.settings.settingOf(host)?.hold === true;
  }
}
