import { describe, expect, it } from '@jest/globals';
import { closeMessageOf, type Ending } from './close-message.js';
import { readHandshake } from './handshake.js';

const DONE = '{"type":"done"}';
const failed: Ending = { type: 'failed', error: 'no such host' };
const refused: Ending = { type: 'refused', code: 1008, error: 'Job not found' };
const broken: Ending = { type: 'brokenOff', code: 1001, error: 'restart' };
const error = (text: string) => JSON.stringify({ type: 'error', error: text });

describe('the end of a watch', () => {
  it('is in the reason for all, and in a frame only for those who never see the reason', () => {
    for (const dialect of ['v2', 'reason'] as const)
      expect(closeMessageOf({ type: 'completed' }, dialect)).toEqual({ frame: null, code: 1000, reason: DONE });
    expect(closeMessageOf({ type: 'completed' }, 'frames')).toEqual({ frame: DONE, code: 1000, reason: DONE });
  });

  it('has no frame when the job was cancelled: it would be read as completed', () => {
    for (const dialect of ['v2', 'reason', 'frames'] as const)
      expect(closeMessageOf({ type: 'cancelled' }, dialect)).toEqual({ frame: null, code: 1000, reason: DONE });
  });

  it('of a failed job is an error frame on v2, and an error code on v1', () => {
    const text = error('no such host');
    expect(closeMessageOf(failed, 'v2')).toEqual({ frame: text, code: 1000, reason: DONE });
    expect(closeMessageOf(failed, 'reason')).toEqual({ frame: null, code: 1011, reason: text });
    expect(closeMessageOf(failed, 'frames')).toEqual({ frame: text, code: 1011, reason: text });
  });

  it('says what is wrong with the request once to each kind of client', () => {
    expect(closeMessageOf(refused, 'v2')).toMatchObject({ frame: error('Job not found'), code: 1008 });
    expect(closeMessageOf(refused, 'reason')).toEqual({ frame: null, code: 1008, reason: error('Job not found') });
  });

  it('lets v2 fall back to polling when only the watch ends', () => {
    expect(closeMessageOf(broken, 'v2')).toEqual({ frame: null, code: 1001, reason: error('restart') });
    expect(closeMessageOf(broken, 'frames').frame).toBe(error('restart'));
  });

  it.each(['x'.repeat(5000), '"\\'.repeat(100), '😀'.repeat(80), `${'a'.repeat(98)}😀`, '\u0001'.repeat(60)])(
    'has a reason of valid JSON in 123 bytes for %j',
    (text) => {
      const { reason } = closeMessageOf({ type: 'failed', error: text }, 'reason');
      expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(123);
      const shown = (JSON.parse(reason) as { error: string }).error.replace(/…$/, '');
      expect(text.startsWith(shown)).toBe(true);
      expect(shown.length).toBeGreaterThan(5);
      expect(Buffer.from(shown).toString()).toBe(shown);
    },
  );
});

describe('a handshake', () => {
  const id = '6F0C0000-0000-4000-8000-000000000000';
  const read = (url: string, headers: Record<string, string> = {}) => readHandshake({ url, headers });

  it.each(['/v1/crawl/', '/v2/crawl/', '/v1/batch/scrape/', '/v2/batch/scrape/'])('is known on %s', (path) => {
    expect(read(`${path}${id}`)?.job).toBe(id.toLowerCase());
    expect(read(`${path}${id}/?x=1`)?.job).toBe(id.toLowerCase());
    expect(read(`${path}active`)).toMatchObject({ job: null });
  });

  it.each(['/', '/v3/crawl/x', '/v2/crawl', '/v2/crawl/', '/v2/crawl/x/errors', '/x/v2/crawl/y'])(
    'is none on %s',
    (path) => expect(read(path)).toBeNull(),
  );

  it('tells the clients apart', () => {
    const authorization = 'Bearer k';
    expect(read(`/v2/crawl/${id}`, { authorization })).toMatchObject({ dialect: 'v2', authorization });
    expect(read(`/v1/crawl/${id}`, { authorization })?.dialect).toBe('frames');
    expect(read(`/v1/crawl/${id}`, { 'sec-websocket-protocol': 'k , other' })).toMatchObject({
      dialect: 'reason',
      subprotocol: 'k',
    });
    expect(read(`/v1/crawl/${id}`)).toMatchObject({ dialect: 'reason', subprotocol: undefined });
  });
});
