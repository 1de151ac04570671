import { describe, expect, it } from '@jest/globals';
import { TroupeError } from '@troupe/contracts';
import type { EngineResponse } from '../http/engine.js';
import { ExpressFetch } from './express-fetch.js';

const ANSWER = { statusCode: 200 } as EngineResponse;
const failure = (reason: string) => new TroupeError('SCRAPE_SITE_ERROR', reason, { details: { reason } });

function fetcherThat(answers: (EngineResponse | Error)[], pauseMs = 0) {
  const troubles: unknown[][] = [];
  let asked = 0;
  let places = 0;
  const fetch = new ExpressFetch({
    engine: {
      fetch: async () => {
        const answer = answers[asked++]!;
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
    express: {
      acquire: async () => {
        places++;
        return { release: () => void places-- };
      },
    },
    penalties: { pauseMs: () => pauseMs, stateOf: () => 'paused' },
    reports: { trouble: (host, seen) => troubles.push([host, seen.kind, seen.status, seen.retryMs, seen.url]) },
  });
  const request = {
    url: 'http://a.test/robots.txt',
    headers: {},
    timeoutMs: 1000,
    maxBytes: 1000,
    skipTlsVerification: false,
    robots: null,
    signal: new AbortController().signal,
  };
  return { get: () => fetch.get(request), asked: () => asked, places: () => places, troubles };
}

describe('a request outside of lanes', () => {
  it('is sent once more when its connection was cut, as idle ones are', async () => {
    const cut = fetcherThat([failure('ECONNRESET'), ANSWER]);
    expect(await cut.get()).toBe(ANSWER);
    expect([cut.asked(), cut.places()]).toEqual([2, 0]);
  });

  it('is not sent a third time, nor again when the server does not answer', async () => {
    const dead = fetcherThat([failure('ECONNRESET'), failure('UND_ERR_SOCKET'), ANSWER]);
    await expect(dead.get()).rejects.toThrow('UND_ERR_SOCKET');
    const refused = fetcherThat([failure('ECONNREFUSED'), ANSWER]);
    await expect(refused.get()).rejects.toThrow('ECONNREFUSED');
    expect([dead.asked(), refused.asked(), dead.places()]).toEqual([2, 1, 0]);
  });

  it('tells what speaks of the host: a 429, a 503, no connection; not a missing file', async () => {
    const url = 'http://a.test/robots.txt';
    const busy = fetcherThat([{ statusCode: 429, retryAfterMs: 4000 } as EngineResponse]);
    await busy.get();
    expect(busy.troubles).toEqual([['a.test', 'rateLimited', 429, 4000, url]]);
    const refused = fetcherThat([
      new TroupeError('SCRAPE_SITE_ERROR', 'no', { retryable: true, details: { reason: 'ECONNREFUSED' } }),
    ]);
    await expect(refused.get()).rejects.toThrow('no');
    expect(refused.troubles).toEqual([['a.test', 'refused', 0, null, url]]);
    const calm = fetcherThat([{ statusCode: 404 } as EngineResponse]);
    await calm.get();
    expect(calm.troubles).toEqual([]);
  });

  it('is not sent to a host that rests, and says for how long', async () => {
    const paused = fetcherThat([ANSWER], 7000);
    await expect(paused.get()).rejects.toMatchObject({ code: 'HOST_PAUSED', httpStatus: 503, retryAfterMs: 7000 });
    expect(paused.asked()).toBe(0);
  });
});
