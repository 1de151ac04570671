import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Envelope, HostFeedback } from '@troupe/contracts';
import type { Penalty } from '@troupe/messaging';
import { HostReports } from './host-reports.js';

describe('reports of a host', () => {
  let sent: Envelope[];
  let penalties: [string, Penalty][];
  let reports: HostReports;

  afterEach(() => void jest.useRealTimers());

  beforeEach(() => {
    jest.useFakeTimers();
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
    expect(bodies()[0]).toMatchObject({ host: 'a.test', ok: 2, meanMs: 20, troubles: [] });
    await reports.flush();
    expect(sent).toHaveLength(2);
  });

  it('of many calm hosts are told a few a second, trouble at once', async () => {
    for (let host = 0; host < 20; host++) reports.clean(`${host}.test`, 10);
    reports.trouble('late.test', { kind: 'refused', retryMs: null, gapMs: 0 });
    await jest.advanceTimersByTimeAsync(1000);
    expect(bodies().map(({ host }) => host)).toEqual([
      ...[0, 1, 2, 3, 4, 5, 6, 7].map((n) => `${n}.test`),
      'late.test',
    ]);
    reports.clean('19.test', 30);
    await jest.advanceTimersByTimeAsync(2000);
    expect(bodies()).toHaveLength(21);
    expect(bodies().at(-1)).toMatchObject({ host: '19.test', ok: 2, meanMs: 20 });
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

  it('name each trouble with its Retry-After', async () => {
    reports.trouble('a.test', { kind: 'rateLimited', retryMs: 7000, gapMs: 0 });
    reports.trouble('a.test', { kind: 'rateLimited', retryMs: 2000, gapMs: 0 });
    await reports.flush();
    expect(bodies()[0]).toMatchObject({ ok: 0, troubles: [{ kind: 'rateLimited', retryMs: 7000 }, { retryMs: 2000 }] });
  });
});
