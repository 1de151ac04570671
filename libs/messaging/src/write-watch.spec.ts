import { describe, expect, it } from '@jest/globals';
import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import { WriteWatch } from './write-watch.js';

let now = 0;
const fail = (watch: WriteWatch, subject: string, error = new Error('timeout')): Promise<void> =>
  watch
    .watch(subject, () => Promise.reject(error))
    .then(
      () => undefined,
      () => undefined,
    );
const store = (watch: WriteWatch, subject: string): Promise<string> => watch.watch(subject, async () => 'stored');
const newWatch = (): WriteWatch => {
  now = 1_000;
  return new WriteWatch(() => now);
};

describe('writes to JetStream', () => {
  it('that fail twice in a row are complained of, by stream, with their reason and how long', async () => {
    const watch = newWatch();
    await fail(watch, 'act.7.crawl');
    expect(watch.complaint()).toBeNull();
    now += 5_000;
    await fail(watch, 'act.9.domain');
    await fail(watch, '$KV.part.p1');
    expect(watch.complaint()).toBe(
      'JetStream does not store what is sent to act (timeout) for 5 s; is the disk of the NATS server full?',
    );
  });

  it('keep their result and their error', async () => {
    const watch = newWatch();
    const error = new Error('no room');
    await expect(watch.watch('act.1', () => Promise.reject(error))).rejects.toBe(error);
    expect(await store(watch, 'act.1')).toBe('stored');
  });

  it('are trusted again after the first that is stored, in the same stream', async () => {
    const watch = newWatch();
    for (const subject of ['$KV.part.a', '$KV.part.b']) await fail(watch, subject);
    await store(watch, '$KV.slot.a');
    await store(watch, 'act.1');
    expect(watch.complaint()).toContain('$KV.part (timeout)');
    await store(watch, '$KV.part.c');
    expect(watch.complaint()).toBeNull();
  });

  it('whose comparison failed show that there was something to compare with', async () => {
    const watch = newWatch();
    await fail(watch, '$KV.part.a');
    await fail(
      watch,
      '$KV.part.a',
      new JetStreamApiError({ code: 400, err_code: JetStreamApiCodes.StreamWrongLastSequence, description: 'wrong' }),
    );
    await fail(watch, '$KV.part.a');
    expect(watch.complaint()).toBeNull();
  });

  it('are forgotten without a try for a minute, and with their server', async () => {
    const watch = newWatch();
    for (let i = 0; i < 3; i++) await fail(watch, 'work.x');
    now += 59_000;
    expect(watch.complaint()).not.toBeNull();
    now += 1_000;
    expect(watch.complaint()).toBeNull();
    await fail(watch, 'work.x');
    expect(watch.complaint()).not.toBeNull();
    watch.forget();
    expect(watch.complaint()).toBeNull();
  });
});
