import { describe, expect, it } from '@jest/globals';
import { actorSubject, SPEC_LIMITS, type Envelope } from '@troupe/contracts';
import { randomInt } from 'node:crypto';
import { decodeEnvelope, encodeBody, encodeEnvelope, MAX_BODY_BYTES, TRACE_HEADER } from './envelope.js';
import { packFrame, withTrace } from './rpc-wire.js';

const TRACE = `00-${'a'.repeat(32)}-${'1'.repeat(16)}-01`;
const MAIL: Envelope = {
  id: 'm1',
  type: 'Cancel',
  v: 1,
  from: 'gw/test',
  to: 'crawl/j',
  n: null,
  body: { type: 'Cancel', job: 'j' },
};

const there = (mail: Envelope) => {
  const { headers, data } = encodeEnvelope(mail);
  return { headers, mail: decodeEnvelope(actorSubject(mail.to), headers, data) };
};

describe('the trace of a message', () => {
  it('travels in the header that others know too', () => {
    const { headers, mail } = there({ ...MAIL, trace: TRACE });
    expect(headers.get('traceparent')).toBe(TRACE);
    expect(mail).toEqual({ ...MAIL, trace: TRACE });
  });

  it('leaves no mark on messages that are not traced', () => {
    const { headers, mail } = there(MAIL);
    expect(headers.has(TRACE_HEADER)).toBe(false);
    expect(Object.keys(mail)).not.toContain('trace');
  });

  it('goes with a request, packed or not', async () => {
    const plain = withTrace(await packFrame({ id: 'r' }, null, 8_000_000), TRACE);
    expect(plain.headers?.get(TRACE_HEADER)).toBe(TRACE);
    const packed = withTrace(await packFrame({ id: 'r' }, new Uint8Array(300_000), 8_000_000), TRACE);
    expect([packed.headers?.get(TRACE_HEADER), packed.headers?.get('T-Enc')]).toEqual([TRACE, 'gz']);
    expect(withTrace(await packFrame({ id: 'r' }, null, 8_000_000), undefined).headers).toBeUndefined();
  });
});

describe('the largest wishes that a job may have', () => {
  /** Text of all printable characters, two and three bytes included: hardly any text compresses less. */
  function noise(bytes: number): string {
    const parts: string[] = [];
    for (let left = bytes; left > 3;) {
      const part = String.fromCharCode(randomInt(10) < 7 ? randomInt(35, 92) : randomInt(0x100, 0x800));
      parts.push(part);
      left -= Buffer.byteLength(part);
    }
    return parts.join('');
  }

  it('fit into a start and into a lane, whatever they consist of', () => {
    const spec = { prompt: noise(SPEC_LIMITS.bytes) };
    const url = noise(20_000);
    const lane = { type: 'Lane', spec, items: [{ url, sourceUrl: url }], rest: 'x'.repeat(1_000) };
    expect(encodeBody('Start', { type: 'Start', spec }).data.length).toBeLessThan(0.9 * MAX_BODY_BYTES);
    expect(() => encodeBody('Lane', lane)).not.toThrow();
  });
});
