import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ActorKey, Envelope, Mail } from '@troupe/contracts';
import { MailBundler } from './mail-bundler.js';

const JOB: ActorKey = 'crawl/a';

function letter(lane: number, to: ActorKey = JOB): Envelope {
  return {
    id: `r.${lane}`,
    type: 'LaneStarted',
    v: 1,
    from: 'w/f',
    to,
    n: null,
    body: { type: 'LaneStarted', lane, run: 'r' },
  };
}

describe('MailBundler', () => {
  let sent: Mail[];
  let fail: Error | null;
  let bundler: MailBundler;

  beforeEach(() => {
    jest.useFakeTimers();
    sent = [];
    fail = null;
    bundler = new MailBundler(
      {
        publishActor: (mail) => {
          sent.push(mail);
          return fail === null ? Promise.resolve() : Promise.reject(fail);
        },
      },
      'f',
      { intervalMs: 50, maxMessages: 3, maxText: 10_000 },
    );
  });

  it('sends the first message at once and what follows together, in order', async () => {
    const all = [1, 2, 3].map((lane) => bundler.publishActor(letter(lane)));
    expect(sent.map(({ id }) => id)).toEqual(['r.1']);
    jest.advanceTimersByTime(50);
    await Promise.all(all);
    expect(sent[1]).toMatchObject({ type: 'Bundle', id: 'b.f.1', to: JOB, n: null });
    expect(sent[1]!.body).toMatchObject({ messages: [{ lane: 2 }, { lane: 3 }] });
  });

  it('sends at once again after a quiet interval', async () => {
    await bundler.publishActor(letter(1));
    jest.advanceTimersByTime(50);
    await bundler.publishActor(letter(2));
    expect(sent.map(({ id }) => id)).toEqual(['r.1', 'r.2']);
  });

  it('does not wait for the interval when a piece is full or large', () => {
    void bundler.publishActor(letter(1));
    for (const lane of [2, 3, 4, 5]) void bundler.publishActor(letter(lane));
    expect(sent).toHaveLength(2);
    void bundler.publishActor(letter(6), 9_000);
    expect(sent).toHaveLength(3);
  });

  it('keeps actors apart', () => {
    void bundler.publishActor(letter(1));
    void bundler.publishActor(letter(1, 'crawl/b'));
    expect(sent.map(({ to }) => to)).toEqual([JOB, 'crawl/b']);
  });

  it('tells every sender of a piece that it was not stored', async () => {
    await bundler.publishActor(letter(1));
    fail = new Error('away');
    const lost = [2, 3].map((lane) => bundler.publishActor(letter(lane)));
    jest.advanceTimersByTime(50);
    const results = await Promise.allSettled(lost);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
