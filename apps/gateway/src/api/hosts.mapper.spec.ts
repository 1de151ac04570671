import { describe, expect, it } from '@jest/globals';
import { type HostReason } from '@troupe/contracts';
import { type StoredHost } from '@troupe/persistence';
import { hostBody, hostOfJobBody, throttledBody } from './hosts.mapper.js';

const AT = '2026-01-01T00:00:00.000Z';
const REASON: HostReason = {
  at: AT,
  kind: 'rateLimited',
  status: 429,
  url: 'http://h.test/a',
  team: 'team-a',
  retryAfterMs: 3_000,
  effect: 'rate cut to 2 pages/s',
};
const RECORD: StoredHost = {
  host: 'h.test',
  state: 'slowed',
  pagesPerSecond: 2,
  maxConn: 1,
  gapMs: 500,
  sinceMs: Date.parse(AT),
  untilMs: null,
  plateau: null,
  reasons: [REASON, { ...REASON, kind: 'timeout', status: 0, url: null, team: null, retryAfterMs: null }],
  updatedAt: new Date(AT),
};

describe('a host in an answer', () => {
  it('says why it is treated so, and leaves out what is not known', () => {
    expect(hostBody(RECORD, 'team-a')).toEqual({
      host: 'h.test',
      state: 'slowed',
      pagesPerSecond: 2,
      maxConn: 1,
      gapMs: 500,
      since: AT,
      reasons: [
        {
          at: AT,
          kind: 'rateLimited',
          status: 429,
          url: 'http://h.test/a',
          retryAfterMs: 3_000,
          effect: 'rate cut to 2 pages/s',
        },
        { at: AT, kind: 'timeout', effect: 'rate cut to 2 pages/s' },
      ],
      updatedAt: AT,
    });
  });

  it('shows a URL to the team that asked for it and to operators alone', () => {
    const urlFor = (team: string | null) => hostBody(RECORD, team).reasons[0]!.url;
    expect([urlFor('team-a'), urlFor(null), urlFor('team-b')]).toEqual([
      'http://h.test/a',
      'http://h.test/a',
      undefined,
    ]);
  });

  it('is open when nothing has been noted of it', () => {
    const counts = { pending: 1, ok: 2, failed: 0, other: 0 };
    expect(hostOfJobBody({ host: 'new.test', record: null, ...counts }, 'team-a')).toEqual({
      host: 'new.test',
      state: 'open',
      reasons: [],
      urls: counts,
    });
  });
});

describe('throttled hosts in the status of a job', () => {
  const throttled = [
    {
      host: 'h.test',
      state: 'paused' as const,
      pagesPerSecond: null,
      since: '2026-01-01T00:00:00+00:00',
      until: '2026-01-01T00:01:00.5+00:00',
      reason: REASON,
    },
  ];

  it('are absent when there are none', () => {
    expect([throttledBody({ throttled: null, team: 'a' }), throttledBody({ throttled: [], team: 'a' })]).toEqual([
      {},
      {},
    ]);
  });

  it('come with their newest reason, without the URL of another team', () => {
    const [mine] = throttledBody({ throttled, team: 'team-a' }).throttled!;
    expect(mine).toMatchObject({
      state: 'paused',
      since: AT,
      until: '2026-01-01T00:01:00.500Z',
      reason: { status: 429 },
    });
    expect(mine!.reason!.url).toBe('http://h.test/a');
    expect(throttledBody({ throttled, team: 'team-b' }).throttled![0]!.reason).not.toHaveProperty('url');
  });
});
