import { describe, expect, it } from '@jest/globals';
import { TroupeError } from '@troupe/contracts';
import type { EngineResponse } from '../engines/engine.js';
import { ExpressFetch } from './express-fetch.js';

const ANSWER = { statusCode: 200 } as EngineResponse;
const failure = (reason: string) => new TroupeError('SCRAPE_SITE_ERROR', reason, { details: { reason } });

function fetcherThat(answers: (EngineResponse | Error)[]) {
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
    penalties: { pauseMs: () => 0, gapMs: () => 0 } as never,
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
  return { get: () => fetch.get(request), asked: () => asked, places: () => places };
}

describe('a request outside of lanes', () => {
  it('is sent once more when its connection was cut, as idle ones are', async () => {
    const cut = fetcherThat([failure('ECONNRESET'), ANSWER]);
    expect(await cut.get()).toBe(ANSWER);
    expect([cut.asked(), cut.places()]).toEqual([2, 0]);
  });

  it('is not sent a third time, nor again when nobody answers', async () => {
    const dead = fetcherThat([failure('ECONNRESET'), failure('UND_ERR_SOCKET'), ANSWER]);
    await expect(dead.get()).rejects.toThrow('UND_ERR_SOCKET');
    const refused = fetcherThat([failure('ECONNREFUSED'), ANSWER]);
    await expect(refused.get()).rejects.toThrow('ECONNREFUSED');
    expect([dead.asked(), refused.asked(), dead.places()]).toEqual([2, 1, 0]);
  });
});
