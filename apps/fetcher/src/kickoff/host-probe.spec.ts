import { describe, expect, it } from '@jest/globals';
import { TroupeError } from '@troupe/contracts';
import type { EngineRequest, EngineResponse } from '../http/engine.js';
import { HostProbe } from './host-probe.js';

async function probe(answer: (request: EngineRequest) => Promise<Partial<EngineResponse>>) {
  const told: [string, boolean][] = [];
  let places = 0;
  const run = new HostProbe({
    engine: { fetch: async (request) => (await answer(request)) as EngineResponse },
    express: {
      acquire: async () => {
        places++;
        return { release: () => void places-- };
      },
    },
    reports: { probed: async (host, { clean }) => void told.push([host, clean]) },
  });
  await run.run({ type: 'Kick', task: 'probe', actor: 'domain/a.test', host: 'a.test', url: 'http://a.test/p' });
  expect(places).toBe(0);
  return told;
}

describe('a probe', () => {
  it.each([
    [200, true],
    [404, true],
    [500, true],
    [429, false],
    [503, false],
  ])('that is answered %i says clean: %s', async (statusCode, clean) => {
    expect(await probe(async () => ({ statusCode }))).toEqual([['a.test', clean]]);
  });

  it('is clean when it is sent elsewhere, where it does not go, and when there is too much of it', async () => {
    const moved = await probe(async ({ onRedirect }) => onRedirect('http://b.test/').then(() => ({ statusCode: 503 })));
    expect(moved).toEqual([['a.test', true]]);
    const large = await probe(() => Promise.reject(new TroupeError('SCRAPE_BODY_TOO_LARGE', 'too large')));
    expect(large).toEqual([['a.test', true]]);
  });

  it.each(['SCRAPE_SITE_ERROR', 'SCRAPE_TIMEOUT', 'SCRAPE_DNS_RESOLUTION_ERROR'] as const)(
    'that ends with %s is not clean',
    async (code) => {
      expect(await probe(() => Promise.reject(new TroupeError(code, 'no')))).toEqual([['a.test', false]]);
    },
  );
});
