/** Whether fetchers with a browser are at hand for pages that this one, which has none, cannot show. */

export interface OtherBrowsersOptions {
  /** Some fetcher with a browser is alive right now. */
  isSeen(): boolean;
  /** Such fetchers are started when pages wait for them, so that none may be alive for a while. */
  areOnDemand: boolean;
  /** Monotonic, in ms. @default performance.now */
  now?: () => number;
}

/** The only one may be restarting for an upgrade. It is expected back for this long. */
const EXPECTED_MS = 120_000;
const LOOK_MS = 1_000;

export class OtherBrowsers {
  private readonly now: () => number;
  private readonly timer: NodeJS.Timeout;
  private seenAt = -Infinity;

  constructor(private readonly options: OtherBrowsersOptions) {
    this.now = options.now ?? (() => performance.now());
    this.timer = setInterval(() => this.look(), LOOK_MS).unref();
  }

  /** For a waiting caller: one can answer now. */
  areThere(): boolean {
    return this.options.isSeen();
  }

  /** For work that can wait: one is alive or expected back. */
  areExpected(): boolean {
    if (this.options.areOnDemand) return true;
    this.look();
    return this.now() - this.seenAt < EXPECTED_MS;
  }

  /** Notes whether one is alive; done every second. */
  look(): void {
    if (this.options.isSeen()) this.seenAt = this.now();
  }

  stop(): void {
    clearInterval(this.timer);
  }
}
