import { describe, expect, it } from '@jest/globals';
import type { Envelope } from '@troupe/contracts';
import { DelayNews } from './delay-news.js';

function newsWith(publishActor: (envelope: Envelope) => Promise<void>): DelayNews {
  return new DelayNews({ mailboxes: { publishActor }, instance: 'me', log: { warn: () => undefined } });
}

describe('news of a crawl-delay', () => {
  it('go to the actor of the host, at most five times', async () => {
    const sent: Envelope[] = [];
    const news = newsWith(async (envelope) => void sent.push(envelope));
    const heard: boolean[] = [];
    for (let n = 0; n < 7; n++) heard.push(await news.tell('a.test:81', 30_000));
    expect(heard).toEqual([true, true, true, true, true, false, false]);
    expect(await news.tell('b.test', 30_000)).toBe(true);
    expect(sent[0]).toMatchObject({
      to: 'domain/a.test:81',
      type: 'RobotsDone',
      body: { host: 'a.test:81', ok: true, crawlDelayMs: 30_000, error: null },
    });
    expect(new Set(sent.map(({ id }) => id)).size).toBe(sent.length);
  });

  it('that cannot be sent are not heard', async () => {
    expect(await newsWith(() => Promise.reject(new Error('away'))).tell('a.test', 1)).toBe(false);
  });
});
