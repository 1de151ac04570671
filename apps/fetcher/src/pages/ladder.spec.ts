import { describe, expect, it } from '@jest/globals';
import { TroupeError, type PageVerdict } from '@troupe/contracts';
import { toEngineError } from '../http/engine-errors.js';
import { firstRung, isTurnedAway, Ladder, nextRung, type RungResult } from './ladder.js';

const answer = (statusCode: number, verdict: PageVerdict | null = 'content', body = '', headers = {}): RungResult => ({
  type: 'answer',
  response: { statusCode, headers, body: Buffer.from(body) },
  verdict,
});
const fault = (code: string): RungResult => ({
  type: 'error',
  error: toEngineError(Object.assign(new Error('x'), { code }), 'https://site.test/', false),
});
const plain = { engine: 'auto', waitForMs: 0 } as const;

describe('the rules of the ladder', () => {
  it('starts with the plain client unless a browser is asked for', () => {
    expect(firstRung(plain)).toBe('http');
    expect(firstRung({ engine: 'auto', waitForMs: 1 })).toBe('browser');
    expect(firstRung({ engine: 'browser', waitForMs: 0 })).toBe('browser');
  });

  it('is content with content, whatever its status', () => {
    for (const status of [200, 404, 403, 429, 500, 503]) expect(nextRung('http', answer(status))).toBeNull();
  });

  it('tries the browser-like client when a bot wall answers, then the browser', () => {
    const walls = [
      answer(403, 'content', '', { server: 'cloudflare' }),
      answer(429, 'content', '<title>Just a moment...</title>'),
      answer(503, 'content', '<form id=captcha>'),
      answer(403, 'content', '', { 'x-datadome': 'protected' }),
      answer(405, 'content', '', { 'set-cookie': 'a=1, incap_ses_1=2' }),
    ];
    expect(walls.map((wall) => nextRung('http', wall))).toEqual(walls.map(() => 'got'));
    expect(walls.map((wall) => nextRung('got', wall))).toEqual(walls.map(() => 'browser'));
  });

  it('believes a wall that names itself, whatever the status', () => {
    for (const header of ['cf-mitigated', 'x-amzn-waf-action'])
      expect(nextRung('http', answer(202, 'content', '', { [header]: 'challenge' }))).toBe('got');
  });

  it('starts stealth with the client that looks like a browser, and keeps apart what it learns of both classes', () => {
    const ladder = new Ladder({ hasBrowser: true });
    const url = 'https://site.test/';
    expect([ladder.start(url, plain), ladder.start(url, plain, 'stealth')]).toEqual(['http', 'got']);
    ladder.learn(url, { from: 'http', to: 'got', isGood: true });
    expect(ladder.start(url, plain)).toBe('got');
    for (const _ of [1, 2, 3]) ladder.learn(url, { from: 'got', to: 'browser', isGood: true, proxy: 'stealth' });
    expect([ladder.start(url, plain), ladder.start(url, plain, 'stealth')]).toEqual(['got', 'browser']);
    const bare = new Ladder({ hasBrowser: false });
    expect(bare.start(url, { engine: 'browserIfAny', waitForMs: 0 }, 'stealth')).toBe('got');
  });

  it('does not take a page that mentions captchas for a wall', () => {
    const page = { statusCode: 200, headers: { server: 'cloudflare' }, body: Buffer.from('how captchas work') };
    expect(isTurnedAway(page)).toBe(false);
    expect(isTurnedAway({ ...page, statusCode: 404 })).toBe(false);
  });

  it('tries the browser-like client when the connection is dropped or the answer is malformed', () => {
    const faults = [
      'ECONNRESET',
      'UND_ERR_SOCKET',
      'HPE_INVALID_HEADER_TOKEN',
      'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
    ];
    expect(faults.map((code) => nextRung('http', fault(code)))).toEqual(faults.map(() => 'got'));
  });

  it('stays where it is when another client would meet the same', () => {
    const faults = [
      'ECONNREFUSED',
      'ETIMEDOUT',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'EHOSTUNREACH',
    ];
    expect(faults.map((code) => nextRung('http', fault(code)))).toEqual(faults.map(() => null));
    for (const code of ['SCRAPE_TARGET_FORBIDDEN', 'SCRAPE_DNS_RESOLUTION_ERROR', 'SCRAPE_BODY_TOO_LARGE'] as const) {
      expect(nextRung('http', { type: 'error', error: new TroupeError(code, 'x') })).toBeNull();
    }
    expect(nextRung('http', { type: 'error', error: new Error('unknown') })).toBeNull();
  });

  it('sends pages that scripts must fill straight to the browser', () => {
    for (const verdict of ['shell', 'challenge', 'empty'] as const) {
      expect([nextRung('http', answer(200, verdict)), nextRung('got', answer(200, verdict))]).toEqual([
        'browser',
        'browser',
      ]);
    }
  });

  it('ends at the browser', () => {
    expect(nextRung('browser', answer(200, 'challenge'))).toBeNull();
    expect(nextRung('browser', fault('ECONNRESET'))).toBeNull();
  });
});

describe('what is learned of a host', () => {
  const url = 'https://site.test/page';
  const other = 'https://site.test/other';

  it('starts at the browser-like client after it paid off once, and forgets it when it no longer does', () => {
    const ladder = new Ladder({ hasBrowser: true });
    ladder.learn(url, { from: 'http', to: 'got', isGood: true });
    expect(ladder.start(other, plain)).toBe('got');
    expect(ladder.start('https://elsewhere.test/', plain)).toBe('http');
    ladder.learn(url, { from: 'got', to: 'got', isGood: false });
    expect(ladder.start(other, plain)).toBe('http');
  });

  it('starts at the browser only after three such pages in a row', () => {
    const ladder = new Ladder({ hasBrowser: true });
    const climb = (): void => ladder.learn(url, { from: 'http', to: 'browser', isGood: true });
    climb();
    climb();
    expect(ladder.start(url, plain)).toBe('http');
    ladder.learn(url, { from: 'http', to: 'http', isGood: true });
    climb();
    climb();
    expect(ladder.start(url, plain)).toBe('http');
    climb();
    expect(ladder.start(url, plain)).toBe('browser');
  });

  const show = (ladder: Ladder, needsBrowser: boolean): string => {
    const from = ladder.start(url, plain);
    ladder.learn(url, { from, to: needsBrowser ? 'browser' : from, isGood: true });
    return from;
  };

  it('checks now and then whether a host needs the browser still, less often the longer it does', () => {
    const ladder = new Ladder({ hasBrowser: true });
    const starts = Array.from({ length: 400 }, () => show(ladder, true));
    const checks = starts.flatMap((engine, page) => (engine === 'http' ? [page] : []));
    expect(checks.slice(0, 6)).toEqual([0, 1, 2, 10, 26, 58]);
    expect(checks.length).toBeLessThan(14);
  });

  it('returns to the plain client as soon as a check succeeds', () => {
    const ladder = new Ladder({ hasBrowser: true });
    for (let page = 0; page < 5; page++) show(ladder, true);
    const starts = Array.from({ length: 20 }, () => show(ladder, false));
    expect(starts.filter((engine) => engine === 'browser').length).toBeLessThan(8);
    expect(starts.slice(-10)).toEqual(Array.from({ length: 10 }, () => 'http'));
  });

  it('sends few pages of a mixed site to the browser that need none', () => {
    const ladder = new Ladder({ hasBrowser: true });
    let seed = 7;
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    const wasted = (share: number): number => {
      let count = 0;
      for (let page = 0; page < 5_000; page++) {
        const needsBrowser = random() < share;
        if (show(ladder, needsBrowser) === 'browser' && !needsBrowser) count++;
      }
      return count;
    };
    expect(wasted(0.1)).toBeLessThan(100);
    expect(wasted(0.3)).toBeLessThan(250);
  });

  it('learns nothing from a climb that did not help', () => {
    const ladder = new Ladder({ hasBrowser: true });
    ladder.learn(url, { from: 'http', to: 'got', isGood: false });
    expect(ladder.start(url, plain)).toBe('http');
  });

  it('forgets after a while', async () => {
    const ladder = new Ladder({ hasBrowser: true, ttlMs: 20 });
    ladder.learn(url, { from: 'http', to: 'got', isGood: true });
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(ladder.start(url, plain)).toBe('http');
  });

  it('does not climb to a browser that is not there', () => {
    const ladder = new Ladder({ hasBrowser: false });
    expect(ladder.next('http', answer(200, 'shell'))).toBeNull();
    expect(ladder.next('http', fault('ECONNRESET'))).toBe('got');
  });
});
