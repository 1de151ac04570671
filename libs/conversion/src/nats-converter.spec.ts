import { errorFromWire, errorToWire, type ErrorWire } from '@troupe/contracts';
import { afterAll, describe, expect, it } from '@jest/globals';
import { conversionRequest, itConverts } from './converter.conformance.js';
import { LocalConverter } from './local-converter.js';
import { NatsConverter, type ConvertCall, type ConvertHead } from './nats-converter.js';

const overTheWire = <V>(value: V): V => JSON.parse(JSON.stringify(value)) as V;

describe('NatsConverter', () => {
  const server = new LocalConverter({ threads: 1 });
  afterAll(() => server.stop());

  /** A converter service at the other end of a wire that carries JSON heads, bytes and error codes. */
  const call: ConvertCall = async (head, body, { signal }) => {
    signal?.throwIfAborted();
    try {
      const { document, ...reply } = await server.convert({ ...overTheWire(head), body: body.slice() });
      return { head: overTheWire(reply), body: document };
    } catch (error) {
      throw errorFromWire(overTheWire<ErrorWire>(errorToWire(error)));
    }
  };

  itConverts(() => new NatsConverter(call, { timeoutMs: 1000 }));

  it('names each call, so that it can be aborted, and passes time limit and signal on', async () => {
    const heads: ConvertHead[] = [];
    const seen: unknown[] = [];
    const { signal } = new AbortController();
    const converter = new NatsConverter(
      (head, body, options) => {
        heads.push(head);
        seen.push(options);
        return call(head, body, options);
      },
      { timeoutMs: 1234 },
    );
    await converter.convert(conversionRequest('x'), signal);
    await converter.convert(conversionRequest('x'), signal);
    expect(new Set(heads.map(({ id }) => id)).size).toBe(2);
    expect(heads[0]).not.toHaveProperty('body');
    expect(seen[0]).toEqual({ timeoutMs: 1234, signal });
  });
});
