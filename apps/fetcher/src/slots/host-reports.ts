/**
 * Reports what this process sees of hosts to their actors: at once when there is trouble, though not more often than
 * every 100 ms, else once a second. When many hosts are without trouble, only a few are reported each second: their
 * actors learn nothing urgent, and each report costs one of them a turn. Nothing is decided here: one URL's trouble is
 * not its host's.
 */
import { Inject, Injectable } from '@nestjs/common';
import {
  actorKey,
  MAX_TROUBLES,
  type HostFeedback,
  type HostTrouble,
  type TroubleKind,
  type Uuid,
} from '@troupe/contracts';
import { fingerprint } from '@troupe/frontier';
import { INSTANCE, LOG } from '@troupe/service';
import { MAILBOXES, PENALTIES, type Mailboxes, type Penalties } from '../cluster/ports.js';
import { TroubleRows } from './trouble-rows.js';

/** A clean answer, by the URL that was asked for; null when nothing of it may be kept. */
export interface SeenClean {
  ms: number;
  url: string | null;
}

export interface SeenTrouble {
  kind: TroubleKind;
  /** HTTP status, 0 when there was no answer. */
  status: number;
  /** Retry-After of the answer in ms, null when there was none. */
  retryMs: number | null;
  url: string;
  /** The team that asked; null: the cluster itself. */
  team: Uuid | null;
  /** Its address is not told to any actor or team. */
  isSecret: boolean;
}

interface Pending {
  report: HostFeedback;
  /** Time at which it may be sent, by `performance.now()`. */
  dueAt: number;
}

const CALM_MS = 1000;
const URGENT_MS = 100;
/** Reports in a round on hosts without trouble. The others add up until it is their turn. */
const MAX_CALM = 8;
/** Longest Retry-After that is believed. */
export const MAX_RETRY_MS = 15 * 60_000;

@Injectable()
export class HostReportsParts {
  @Inject(MAILBOXES) readonly mailboxes!: Mailboxes;
  @Inject(PENALTIES) readonly penalties!: Pick<Penalties, 'stateOf'>;
  @Inject(INSTANCE) readonly instance!: string;
  @Inject(LOG) readonly log!: { warn(context: object, message: string): void };
}

@Injectable()
export class HostReports {
  private readonly pending = new Map<string, Pending>();
  /** Times of the hosts' last reports. Those from more than a moment ago are forgotten. */
  private readonly left = new Map<string, number>();
  private readonly rows = new TroubleRows();
  private timer: { at: number; handle: NodeJS.Timeout } | null = null;
  private sent = 0;

  constructor(private readonly options: HostReportsParts) {}

  clean(host: string, { ms, url }: SeenClean): void {
    this.rows.clean(host);
    const { report, dueAt } = this.of(host);
    report.meanMs = (report.meanMs * report.ok + ms) / (report.ok + 1);
    report.ok++;
    if (url !== null) report.okUrl = url;
    this.wakeAt(dueAt);
  }

  /** Milliseconds for which this process should leave the host alone, 0: one URL's trouble is not its host's. */
  trouble(host: string, { kind, status, retryMs, url, team, isSecret }: SeenTrouble): number {
    const pending = this.of(host);
    const trouble: HostTrouble = {
      kind,
      status,
      urlH: fingerprint(url),
      ...(isSecret ? {} : { url }),
      team,
      retryMs: retryMs === null ? null : Math.min(retryMs, MAX_RETRY_MS),
    };
    if (pending.report.troubles.length < MAX_TROUBLES) pending.report.troubles.push(trouble);
    pending.dueAt = Math.min(
      pending.dueAt,
      Math.max(performance.now(), (this.left.get(host) ?? -Infinity) + URGENT_MS),
    );
    this.wakeAt(pending.dueAt);
    return this.rows.trouble(host, trouble);
  }

  /** Reports the end of a probe of a host that was down. `url`: as in a clean answer. */
  async probed(host: string, { clean, url }: { clean: boolean; url: string | null }): Promise<void> {
    await this.send({ ...blank(host), ...(clean && url !== null ? { okUrl: url } : {}), probe: { clean } });
  }

  /** Sends all that is pending. Lossy: the next report repeats nothing, the host's policy only learns later. */
  async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer.handle);
    this.timer = null;
    await this.sendAll([...this.pending.values()]);
  }

  private async round(): Promise<void> {
    this.timer = null;
    const now = performance.now();
    const due = [...this.pending.values()].filter(({ dueAt }) => dueAt <= now);
    const waiting = new Set(due.filter(({ report }) => this.isCalm(report)).slice(MAX_CALM));
    for (const pending of waiting) pending.dueAt = now + CALM_MS;
    for (const [host, at] of this.left) if (at < now - URGENT_MS) this.left.delete(host);
    const sending = this.sendAll(due.filter((pending) => !waiting.has(pending)));
    for (const { dueAt } of this.pending.values()) this.wakeAt(dueAt);
    await sending;
  }

  private isCalm({ host, troubles }: HostFeedback): boolean {
    return troubles.length === 0 && this.options.penalties.stateOf(host) === 'open';
  }

  private async sendAll(all: readonly Pending[]): Promise<void> {
    const now = performance.now();
    for (const { report } of all) {
      this.pending.delete(report.host);
      this.left.set(report.host, now);
    }
    await Promise.all(all.map(({ report }) => this.send(report)));
  }

  private wakeAt(at: number): void {
    if (this.timer !== null && this.timer.at <= at) return;
    if (this.timer !== null) clearTimeout(this.timer.handle);
    const handle = setTimeout(() => void this.round(), Math.max(0, at - performance.now())).unref();
    this.timer = { at, handle };
  }

  private of(host: string): Pending {
    let pending = this.pending.get(host);
    if (pending === undefined) {
      pending = { report: blank(host), dueAt: performance.now() + CALM_MS };
      this.pending.set(host, pending);
    }
    return pending;
  }

  private async send(report: HostFeedback): Promise<void> {
    const id = `f.${this.options.instance}.${++this.sent}`;
    const from = `w/${this.options.instance}` as const;
    try {
      const to = actorKey('domain', report.host);
      await this.options.mailboxes.publishActor({ id, type: 'HostFeedback', v: 1, from, to, n: null, body: report });
    } catch (error) {
      this.options.log.warn({ host: report.host, err: error }, 'host feedback not delivered');
    }
  }
}

function blank(host: string): HostFeedback {
  return { type: 'HostFeedback', host, ok: 0, meanMs: 0, troubles: [] };
}
