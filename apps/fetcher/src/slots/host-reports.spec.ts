import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MAX_TROUBLES, type Envelope, type HostFeedback, type HostState } from '@troupe/contracts';
import { HostReports, type SeenTrouble } from './host-reports.js';

describe('reports of a host', () => {
  let sent: Envelope[];
  let state: HostState;
  let reports: HostReports;

  afterEach(() => void jest.useRealTimers());

  beforeEach(() => {
    jest.useFakeTimers();
    sent = [];
    state = 'open';
    reports = new HostReports({
      mailboxes: { publishActor: async (envelope) => void sent.push(envelope) },
      penalties: { stateOf: () => state },
      instance: 'me',
      log: { warn: () => undefined },
    });
  });

  const bodies = () => sent.map(({ body }) => body as HostFeedback);
  const clean = (host: string, ms: number) => reports.clean(host, { ms, url: `http://${host}/${ms}` });
  const trouble = (host: string, path: string, more: Partial<SeenTrouble> = {}) =>
    reports.trouble(host, {
      kind: 'rateLimited',
      status: 429,
      retryMs: null,
      url: `http://${host}/${path}`,
      team: 'team',
      isSecret: false,
      ...more,
    });

  it('are summed up, one message a host, with the newest address that was clean', async () => {
    clean('a.test', 10);
    clean('a.test', 30);
    clean('b.test:81', 5);
    await reports.flush();
    expect(sent.map(({ to }) => to)).toEqual(['domain/a.test', 'domain/b.test:81']);
    expect(bodies()[0]).toEqual({
      type: 'HostFeedback',
      host: 'a.test',
      ok: 2,
      meanMs: 20,
      okUrl: 'http://a.test/30',
      troubles: [],
    });
    await reports.flush();
    expect(sent).toHaveLength(2);
  });

  it('leave at once with trouble, with what was clean before, and then not more often than every 100 ms', async () => {
    clean('a.test', 10);
    trouble('a.test', 'x');
    await jest.advanceTimersByTimeAsync(5);
    expect(bodies()).toMatchObject([
      { ok: 1, troubles: [{ url: 'http://a.test/x', kind: 'rateLimited', status: 429 }] },
    ]);
    trouble('a.test', 'y');
    trouble('b.test', 'y');
    await jest.advanceTimersByTimeAsync(80);
    expect(bodies().map(({ host }) => host)).toEqual(['a.test', 'b.test']);
    trouble('a.test', 'z');
    await jest.advanceTimersByTimeAsync(20);
    expect(bodies()[2]).toMatchObject({ host: 'a.test', ok: 0, troubles: [{}, {}] });
  });

  it('of many calm hosts are told a few a second, those of a slowed one always', async () => {
    for (let host = 0; host < 20; host++) clean(`${host}.test`, 10);
    await jest.advanceTimersByTimeAsync(1005);
    expect(bodies()).toHaveLength(8);
    clean('19.test', 30);
    await jest.advanceTimersByTimeAsync(2000);
    expect(bodies()).toHaveLength(20);
    expect(bodies().at(-1)).toMatchObject({ host: '19.test', ok: 2, meanMs: 20 });
    state = 'slowed';
    for (let host = 0; host < 20; host++) clean(`${host}.test`, 10);
    await jest.advanceTimersByTimeAsync(1005);
    expect(bodies()).toHaveLength(40);
  });

  it('name no address of which nothing may be kept, and still tell URLs apart', async () => {
    trouble('a.test', 'x', { isSecret: true });
    trouble('a.test', 'y', { isSecret: true });
    reports.clean('a.test', { ms: 1, url: null });
    await reports.flush();
    const [{ troubles, okUrl }] = bodies() as [HostFeedback];
    expect(JSON.stringify(troubles)).not.toContain('a.test');
    expect(new Set(troubles.map(({ urlH }) => urlH)).size).toBe(2);
    expect(okUrl).toBeUndefined();
  });

  it('hold so many troubles and no more, and never a Retry-After above 15 minutes', async () => {
    for (let n = 0; n < 50; n++) trouble('a.test', String(n), { retryMs: 3_600_000 });
    await reports.flush();
    expect(bodies()[0]!.troubles).toHaveLength(MAX_TROUBLES);
    expect(bodies()[0]!.troubles[0]!.retryMs).toBe(900_000);
  });

  it('say when two URLs in a row are reason to leave a host alone', () => {
    expect([trouble('a.test', 'x'), trouble('a.test', 'x'), trouble('a.test', 'y')]).toEqual([0, 0, 1000]);
    clean('a.test', 1);
    expect(trouble('a.test', 'z')).toBe(0);
  });

  it('of a probe are told by themselves', async () => {
    trouble('a.test', 'x');
    const url = 'http://a.test/p';
    await reports.probed('a.test', { clean: true, url });
    await reports.probed('a.test', { clean: false, url });
    await reports.probed('a.test', { clean: true, url: null });
    const blank = { type: 'HostFeedback', host: 'a.test', ok: 0, meanMs: 0, troubles: [] };
    expect(bodies()).toEqual([
      { ...blank, okUrl: url, probe: { clean: true } },
      { ...blank, probe: { clean: false } },
      { ...blank, probe: { clean: true } },
    ]);
  });
});
