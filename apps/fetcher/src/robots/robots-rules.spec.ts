import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { TroupeError } from '@troupe/contracts';
import type { EngineResponse } from '../http/engine.js';
import { HostPausedError } from '../slots/hop-guard.js';
import { RobotsRules } from './robots-rules.js';

const PAGE = 'http://site.test:8080/private/a';
const HOST = 'site.test:8080';
const FILE = 'User-agent: *\nDisallow: /private/\nCrawl-delay: 30';
const HOUR_MS = 3_600_000;
const signal = new AbortController().signal;
const refused = () => new TroupeError('SCRAPE_SITE_ERROR', 'refused', { retryable: true });

describe('robots rules', () => {
  let stored: Map<string, { status: number; body: Buffer; ageMs: number; ttlS: number }>;
  let asked: string[];
  let answer: Partial<EngineResponse> | Error;
  let storeFails: boolean;
  let rules: RobotsRules;

  beforeEach(() => {
    stored = new Map();
    asked = [];
    answer = { statusCode: 200, body: Buffer.from(FILE) };
    storeFails = false;
    rules = newRules();
  });

  function newRules(): RobotsRules {
    return new RobotsRules({
      store: {
        get: async (host) => {
          if (storeFails) throw new Error('no database');
          return stored.get(host) ?? null;
        },
        put: async (host, row) => {
          if (storeFails) throw new Error('no database');
          stored.set(host, { ...row, ageMs: 0 });
        },
      },
      fetch: {
        get: async ({ url }) => {
          asked.push(url);
          if (answer instanceof Error) throw answer;
          return { statusCode: 200, body: new Uint8Array(), retryAfterMs: null, ...answer } as EngineResponse;
        },
      },
      log: { warn: () => undefined },
      // The cache takes 0 for no time at all.
      clock: { now: () => 1 + performance.now() },
    });
  }

  const keep = (status: number, ageMs: number, text = FILE) =>
    void stored.set(HOST, { status, body: Buffer.from(text), ageMs, ttlS: 86_400 });

  it('come from the host once and are kept for the cluster', async () => {
    const [first, second] = await Promise.all([rules.rulesFor(PAGE, signal), rules.rulesFor(PAGE, signal)]);
    expect(first.isAllowed(PAGE, 'Troupe')).toBe(false);
    expect(second).toBe(first);
    await rules.rulesFor(PAGE, signal);
    expect(asked).toEqual(['http://site.test:8080/robots.txt']);
    expect(stored.get(HOST)).toMatchObject({ status: 200, ttlS: 86_400 });
  });

  it('are not fetched while the cluster knows them, and are when that is a day old', async () => {
    keep(404, 23 * HOUR_MS, '');
    expect((await rules.rulesFor(PAGE, signal)).isAllowed(PAGE, 'Troupe')).toBe(true);
    expect(asked).toEqual([]);
    keep(404, 24 * HOUR_MS, '');
    expect((await newRules().rulesFor(PAGE, signal)).isAllowed(PAGE, 'Troupe')).toBe(false);
    expect(asked).toHaveLength(1);
  });

  it('allow everything without a file', async () => {
    answer = { statusCode: 404 };
    expect((await rules.rulesFor(PAGE, signal)).isAllowed(PAGE, 'Troupe')).toBe(true);
    expect(await rules.describe(PAGE)).toMatchObject({ isAnswer: true, status: 404, error: null, retryMs: null });
  });

  it.each([429, 500, 503])(
    'allow nothing while the server answers %i, which no other process is told',
    async (statusCode) => {
      answer = { statusCode };
      expect((await rules.rulesFor(PAGE, signal)).isAllowed('http://site.test:8080/', 'Troupe')).toBe(false);
      expect(await rules.describe(PAGE)).toMatchObject({ isAnswer: false, status: statusCode });
      expect(stored.size).toBe(0);
    },
  );

  it('of a host that cannot be reached are an error that says why and when it is asked again, not a verdict', async () => {
    answer = refused();
    const failure = await rules.rulesFor(PAGE, signal).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'SCRAPE_SITE_ERROR', host: HOST, retryable: true });
    const { retryMs, message } = failure as { retryMs: number; message: string };
    expect(message).toBe(`robots.txt of ${HOST} cannot be read: refused`);
    expect(retryMs).toBeGreaterThan(4_000);
    expect(retryMs).toBeLessThanOrEqual(5_000);
    expect(await rules.describe(PAGE)).toMatchObject({
      isAnswer: false,
      status: 0,
      error: { message: 'refused' },
      retryMs: expect.any(Number),
    });
    expect(stored.size).toBe(0);
  });

  it('of a host that there is not fail its pages for good', async () => {
    answer = new TroupeError('SCRAPE_DNS_RESOLUTION_ERROR', 'no such host');
    await expect(rules.rulesFor(PAGE, signal)).rejects.toMatchObject({
      code: 'SCRAPE_DNS_RESOLUTION_ERROR',
      retryable: false,
      trouble: null,
    });
  });

  it.each([['a 503', { statusCode: 503 }] as const, ['no answer', refused()] as const])(
    'of the last answer hold, with their delay, for a week of %s',
    async (_what, failure) => {
      answer = failure;
      keep(200, 6 * 24 * HOUR_MS);
      const file = await rules.rulesFor(PAGE, signal);
      expect([file.isAllowed(PAGE, 'Troupe'), file.isAllowed('http://site.test:8080/', 'Troupe')]).toEqual([
        false,
        true,
      ]);
      expect(file.crawlDelayMs('Troupe')).toBe(30_000);
      expect(await rules.describe(PAGE)).toMatchObject({ isAnswer: false });
      expect(asked).toHaveLength(1);
      keep(200, 8 * 24 * HOUR_MS);
      const late = newRules().rulesFor('http://site.test:8080/', signal);
      if (failure instanceof Error) await expect(late).rejects.toThrow('cannot be read');
      else expect((await late).isAllowed('http://site.test:8080/', 'Troupe')).toBe(false);
    },
  );

  it('that an older version kept of a broken server are no answer', async () => {
    keep(503, 0, '');
    expect((await rules.rulesFor('http://site.test:8080/', signal)).isAllowed('http://site.test:8080/', 'x')).toBe(
      true,
    );
    expect(asked).toHaveLength(1);
  });

  it('do without the database', async () => {
    storeFails = true;
    expect((await rules.rulesFor(PAGE, signal)).isAllowed(PAGE, 'Troupe')).toBe(false);
  });

  it('are not waited for by a caller that gave up', async () => {
    const caller = new AbortController();
    caller.abort(new Error('cancelled'));
    await expect(rules.rulesFor(PAGE, caller.signal)).rejects.toThrow('cancelled');
  });

  describe('that cannot be read', () => {
    beforeEach(() => void jest.useFakeTimers());
    afterEach(() => void jest.useRealTimers());

    const ask = () => rules.rulesFor(PAGE, signal).catch(() => null);

    it('are asked for again after 5 s, 30 s, 2 min and every 10 min, and then hold for a day', async () => {
      answer = refused();
      await ask();
      for (const [n, seconds] of [5, 30, 120, 600, 600].entries()) {
        await jest.advanceTimersByTimeAsync(seconds * 1000 - 50);
        await ask();
        expect(asked).toHaveLength(n + 1);
        await jest.advanceTimersByTimeAsync(100);
        await ask();
        expect(asked).toHaveLength(n + 2);
      }
      answer = { statusCode: 200, body: Buffer.from(FILE) };
      await jest.advanceTimersByTimeAsync(600_100);
      expect((await ask())?.crawlDelayMs('Troupe')).toBe(30_000);
      answer = refused();
      await jest.advanceTimersByTimeAsync(23 * HOUR_MS);
      expect(await ask()).not.toBeNull();
      expect(asked).toHaveLength(7);
    });

    it('are asked for when the host said that they may be', async () => {
      answer = { statusCode: 429, retryAfterMs: 60_000 };
      await ask();
      await jest.advanceTimersByTimeAsync(59_900);
      await ask();
      expect(asked).toHaveLength(1);
      await jest.advanceTimersByTimeAsync(200);
      await ask();
      expect(asked).toHaveLength(2);
    });

    it('because the host rests are asked for as soon as it does not, which is no failure', async () => {
      answer = new HostPausedError(HOST, 60_000);
      await expect(rules.rulesFor(PAGE, signal)).rejects.toBe(answer);
      await jest.advanceTimersByTimeAsync(1100);
      answer = refused();
      await ask();
      await jest.advanceTimersByTimeAsync(5100);
      await ask();
      expect(asked).toHaveLength(3);
    });

    it('are asked for at the moment at which their askers were told to come back', async () => {
      answer = refused();
      await rules.describe(PAGE);
      await jest.advanceTimersByTimeAsync(4500);
      await rules.describe(PAGE);
      expect(asked).toHaveLength(2);
    });
  });
});
