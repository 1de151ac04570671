import { beforeEach, describe, expect, it } from '@jest/globals';
import { TroupeError } from '@troupe/contracts';
import type { EngineResponse } from '../engines/engine.js';
import { RobotsRules } from './robots-rules.js';

const PAGE = 'http://site.test:8080/private/a';
const signal = new AbortController().signal;

describe('robots rules', () => {
  let stored: Map<string, { status: number; body: Buffer; atMs: number; ttlS: number }>;
  let asked: string[];
  let answer: Partial<EngineResponse> | Error;
  let storeFails: boolean;
  let rules: RobotsRules;

  beforeEach(() => {
    stored = new Map();
    asked = [];
    answer = { statusCode: 200, body: Buffer.from('User-agent: *\nDisallow: /private/') };
    storeFails = false;
    rules = new RobotsRules({
      store: {
        get: async (host) => {
          if (storeFails) throw new Error('no database');
          return stored.get(host) ?? null;
        },
        put: async (host, row) => {
          if (storeFails) throw new Error('no database');
          stored.set(host, { ...row, atMs: 1000 });
        },
      },
      fetch: {
        get: async ({ url }) => {
          asked.push(url);
          if (answer instanceof Error) throw answer;
          return { statusCode: 200, body: new Uint8Array(), ...answer } as EngineResponse;
        },
      },
      log: { warn: () => undefined },
      wallMs: () => 2000,
    });
  });

  it('come from the host once and are kept for the cluster', async () => {
    const [first, second] = await Promise.all([rules.rulesFor(PAGE, signal), rules.rulesFor(PAGE, signal)]);
    expect(first.isAllowed(PAGE, 'Troupe')).toBe(false);
    expect(second).toBe(first);
    await rules.rulesFor(PAGE, signal);
    expect(asked).toEqual(['http://site.test:8080/robots.txt']);
    expect(stored.get('site.test:8080')).toMatchObject({ status: 200, ttlS: 86_400 });
  });

  it('are not fetched while the cluster knows them, and are when that has grown old', async () => {
    stored.set('site.test:8080', { status: 404, body: Buffer.alloc(0), atMs: 1000, ttlS: 10 });
    expect((await rules.rulesFor(PAGE, signal)).isAllowed(PAGE, 'Troupe')).toBe(true);
    expect(asked).toEqual([]);
    stored.set('old.test', { status: 404, body: Buffer.alloc(0), atMs: -20_000, ttlS: 10 });
    await rules.rulesFor('http://old.test/', signal);
    expect(asked).toEqual(['http://old.test/robots.txt']);
  });

  it('allow everything without a file and nothing while the server is broken', async () => {
    answer = { statusCode: 404 };
    expect((await rules.rulesFor('http://none.test/', signal)).isAllowed('http://none.test/', 'Troupe')).toBe(true);
    answer = { statusCode: 500 };
    expect((await rules.rulesFor('http://broken.test/', signal)).isAllowed('http://broken.test/', 'Troupe')).toBe(
      false,
    );
    expect(stored.get('broken.test')?.ttlS).toBe(600);
  });

  it('of a host that cannot be reached are an error with the reason, not a verdict', async () => {
    answer = new TroupeError('SCRAPE_SITE_ERROR', 'refused', { retryable: true });
    await expect(rules.rulesFor(PAGE, signal)).rejects.toMatchObject({
      code: 'SCRAPE_SITE_ERROR',
      trouble: 'refused',
      retryable: true,
    });
    expect(await rules.describe(PAGE)).toMatchObject({ status: 0, error: { code: 'SCRAPE_SITE_ERROR' } });
    expect(stored.size).toBe(0);
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
});
