/**
 * The treatment of a host, in the words of the API. A reason's URL is shown to the team that asked for it, and to
 * operators.
 */
import { type HostReason, type Uuid } from '@troupe/contracts';
import { type HostOfJob, type JobView, type StoredHost } from '@troupe/persistence';

const instant = (at: string | number): string => new Date(at).toISOString();

/** For the status of a running job. */
export function throttledBody({ throttled, team }: Pick<JobView, 'throttled' | 'team'>) {
  if (throttled === null || throttled.length === 0) return {};
  return {
    throttled: throttled.map(({ host, state, pagesPerSecond, since, until, reason }) => ({
      host,
      state,
      pagesPerSecond,
      since: instant(since),
      ...(until === null ? {} : { until: instant(until) }),
      ...(reason === null ? {} : { reason: reasonBody(reason, team) }),
    })),
  };
}

/** `team` null: for an operator. */
export function hostBody(record: StoredHost, team: Uuid | null) {
  const { host, state, pagesPerSecond, maxConn, gapMs, sinceMs, untilMs, reasons, updatedAt } = record;
  return {
    host,
    state,
    pagesPerSecond,
    maxConn,
    gapMs,
    since: instant(sinceMs),
    ...(untilMs === null ? {} : { until: instant(untilMs) }),
    reasons: reasons.map((reason) => reasonBody(reason, team)),
    updatedAt: updatedAt.toISOString(),
  };
}

/** A host of which nothing has been noted is open. */
export function hostOfJobBody({ host, record, pending, ok, failed, other }: HostOfJob, team: Uuid) {
  const urls = { pending, ok, failed, other };
  return record === null ? { host, state: 'open', reasons: [], urls } : { ...hostBody(record, team), urls };
}

function reasonBody({ at, kind, status, url, team, retryAfterMs, effect }: HostReason, viewer: Uuid | null) {
  const isShown = url !== null && (viewer === null || viewer === team);
  return {
    at: instant(at),
    kind,
    ...(status === 0 ? {} : { status }),
    ...(isShown ? { url } : {}),
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
    effect,
  };
}
