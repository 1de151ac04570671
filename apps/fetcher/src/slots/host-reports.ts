/**
 * What this process sees of hosts. Trouble is told to the other fetchers at once through the penalty board; everything
 * goes, summed up, to the host's actor at most once a second (design/politeness.md §5). Of many hosts without trouble only
 * a few are told each second: their actors learn nothing urgent, and each report costs one of them a turn.
 */
import { actorKey, MAX_TROUBLES, type HostFeedback, type HostTrouble } from '@troupe/contracts';
import type { Mailboxes, Penalties } from '../ports.js';

export type TroubleKind = 'rateLimited' | 'unavailable' | 'refused' | 'timeouts';

export interface Trouble {
  kind: TroubleKind;
  /** Retry-After of the answer in ms, null when there was none. */
  retryMs: number | null;
  /** Gap under which the trouble came. */
  gapMs: number;
}

const REPORT_MS = 1000;
/** Reports a round of hosts that give no trouble; the others add up until it is their turn. */
const MAX_CALM = 8;
const DEFAULT_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 15 * 60_000;
const MIN_BACKOFF_GAP_MS = 1000;
const MAX_GAP_MS = 120_000;

export interface HostReportsOptions {
  mailboxes: Mailboxes;
  penalties: Penalties;
  instance: string;
  log: { warn(context: object, message: string): void };
}

export class HostReports {
  readonly #pending = new Map<string, HostFeedback>();
  #timer: NodeJS.Timeout | null = null;
  #sent = 0;
  #seen = 0;

  constructor(private readonly options: HostReportsOptions) {}

  clean(host: string, ms: number): void {
    const report = this.#report(host);
    report.meanMs = (report.meanMs * report.ok + ms) / (report.ok + 1);
    report.ok++;
  }

  /** Pauses the host for every fetcher and returns the pause in ms. */
  trouble(host: string, trouble: Trouble): number {
    const report = this.#report(host);
    if (report.troubles.length < MAX_TROUBLES) report.troubles.push(seen(trouble, this.#seen++));
    const retryMs = Math.min(trouble.retryMs ?? DEFAULT_PAUSE_MS, MAX_PAUSE_MS);
    this.options.penalties.put(host, { retryMs, gapMs: backoffGap(trouble) }).catch((error: unknown) => {
      this.options.log.warn({ host, err: error }, 'penalty not shared with the other fetchers');
    });
    return retryMs;
  }

  /** Sends all that is pending. Lossy: the next report repeats nothing, the host's policy only learns later. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#sendAll([...this.#pending.values()]);
  }

  async #round(): Promise<void> {
    this.#timer = null;
    const reports = [...this.#pending.values()];
    const waiting = new Set(reports.filter((report) => this.#isCalm(report)).slice(MAX_CALM));
    if (waiting.size > 0) this.#startTimer();
    await this.#sendAll(reports.filter((report) => !waiting.has(report)));
  }

  #isCalm({ host, troubles }: HostFeedback): boolean {
    return troubles.length === 0 && this.options.penalties.gapMs(host) === 0;
  }

  async #sendAll(reports: HostFeedback[]): Promise<void> {
    for (const { host } of reports) this.#pending.delete(host);
    await Promise.all(reports.map((report) => this.#send(report)));
  }

  #startTimer(): void {
    this.#timer ??= setTimeout(() => void this.#round(), REPORT_MS).unref();
  }

  #report(host: string): HostFeedback {
    let report = this.#pending.get(host);
    if (report === undefined) {
      report = {
        type: 'HostFeedback',
        host,
        ok: 0,
        meanMs: 0,
        troubles: [],
      };
      this.#pending.set(host, report);
    }
    this.#startTimer();
    return report;
  }

  async #send(report: HostFeedback): Promise<void> {
    const id = `f.${this.options.instance}.${++this.#sent}`;
    const from = `w/${this.options.instance}` as const;
    try {
      const to = actorKey('domain', report.host);
      await this.options.mailboxes.publishActor({ id, type: 'HostFeedback', v: 1, from, to, n: null, body: report });
    } catch (error) {
      this.options.log.warn({ host: report.host, err: error }, 'host feedback not delivered');
    }
  }
}

/** A single timeout says little about the host, so it pauses without slowing down what follows. */
function backoffGap({ kind, gapMs }: Trouble): number {
  if (kind === 'timeouts') return gapMs;
  return Math.min(MAX_GAP_MS, Math.max(2 * gapMs, MIN_BACKOFF_GAP_MS));
}

const STATUS = { rateLimited: 429, unavailable: 503, refused: 0, timeouts: 0 } as const;

function seen({ kind, retryMs }: Trouble, no: number): HostTrouble {
  return {
    kind: kind === 'timeouts' ? 'timeout' : kind,
    status: STATUS[kind],
    urlH: no.toString(16).padStart(16, '0'),
    team: null,
    retryMs,
  };
}
