import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Envelope, HostFeedback } from '@troupe/contracts';
import type { Penalty } from '@troupe/messaging';
import { HostReports } from './host-reports.js';

describe('reports of a host', () => {
  let sent: Envelope[];
  let penalties: [string, Penalty][];
  let reports: HostReports;

  beforeEach(() => {
    sent = [];
    penalties = [];
    reports = new HostReports({
      mailboxes: { publishActor: async (envelope) => void sent.push(envelope) },
      penalties: {
        put: async (host, penalty) => void penalties.push([host, penalty]),
        pauseMs: () => 0,
        gapMs: () => 0,
      },
      instance: 'me',
      log: { warn: () => undefined },
    });
  });

  const bodies = () => sent.map(({ body }) => body as HostFeedback);

  it('are summed up, one message a host', async () => {
    reports.clean('a.test', 10);
    reports.clean('a.test', 30);
    reports.clean('b.test:81', 5);
    await reports.flush();
    expect(sent.map(({ to }) => to)).toEqual(['domain/a.test', 'domain/b.test:81']);
    expect(bodies()[0]).toMatchObject({ host: 'a.test', ok: 2, meanMs: 20, rateLimited: 0 });
    await reports.flush();
    expect(sent).toHaveLength(2);
  });

  it('of trouble pause the host at once', () => {
    expect(reports.trouble('a.test', { kind: 'rateLimited', retryMs: 7000, gapMs: 900 })).toBe(7000);
    expect(penalties).toEqual([['a.test', { retryMs: 7000, gapMs: 1800 }]]);
  });

  it('never ask for a pause above 15 minutes or a gap above 2', () => {
    reports.trouble('a.test', { kind: 'unavailable', retryMs: 3_600_000, gapMs: 100_000 });
    expect(penalties[0]?.[1]).toEqual({ retryMs: 900_000, gapMs: 120_000 });
  });

  it('of a timeout pause the host without slowing it down', () => {
    reports.trouble('a.test', { kind: 'timeouts', retryMs: null, gapMs: 100 });
    expect(penalties[0]?.[1]).toEqual({ retryMs: 1000, gapMs: 100 });
  });

  it('keep the longest Retry-After', async () => {
    reports.trouble('a.test', { kind: 'rateLimited', retryMs: 7000, gapMs: 0 });
    reports.trouble('a.test', { kind: 'rateLimited', retryMs: 2000, gapMs: 0 });
    await reports.flush();
    expect(bodies()[0]).toMatchObject({ rateLimited: 2, retryMs: 7000, ok: 0 });
  });
});
