import { describe, expect, it } from '@jest/globals';
import { GateClosedError, ProviderGate } from './provider-gate.js';

const NEVER = new AbortController().signal;
const settle = () => new Promise((resolve) => setImmediate(resolve));

function gateAt(clock: { ms: number }, concurrency = 2): ProviderGate {
  return new ProviderGate({ concurrency, now: () => clock.ms, random: () => 0 });
}

/** Names of the calls that have entered, in order. */
function entering(gate: ProviderGate, entered: string[]) {
  return (name: string, team = name) =>
    gate.enter(team, NEVER).then(
      () => void entered.push(name),
      (error: Error) => void entered.push(`${name}: ${error.message}`),
    );
}

describe('the gate of a provider', () => {
  it('lets as many in as may be in, teams in turn', async () => {
    const entered: string[] = [];
    const gate = gateAt({ ms: 0 });
    const enter = entering(gate, entered);
    for (const name of ['a1', 'a2', 'a3', 'a4']) void enter(name, 'a');
    void enter('b1', 'b');
    await settle();
    expect(entered).toEqual(['a1', 'a2']);
    gate.leave();
    gate.leave();
    await settle();
    expect(entered).toEqual(['a1', 'a2', 'a3', 'b1']);
  });

  it('closes after four failures in a row, for all who wait and for those who come', async () => {
    const entered: string[] = [];
    const clock = { ms: 0 };
    const gate = gateAt(clock, 1);
    const enter = entering(gate, entered);
    await enter('first');
    void enter('waiting');
    for (let n = 0; n < 4; n++) gate.failed('no connection');
    gate.leave();
    await settle();
    expect(entered).toEqual(['first', 'waiting: no connection']);
    await enter('late');
    expect(entered.at(-1)).toBe('late: no connection');
    clock.ms += 5_001;
    await enter('probe');
    expect(entered.at(-1)).toBe('probe');
    expect(gate.isClosed).toBe(false);
    gate.failed('still none');
    expect(gate.isClosed).toBe(true);
    clock.ms += 5_001;
    expect(gate.isClosed).toBe(true);
  });

  it('lets one try at a time while the provider fails, and all again when one succeeded', async () => {
    const entered: string[] = [];
    const clock = { ms: 0 };
    const gate = gateAt(clock, 3);
    const enter = entering(gate, entered);
    await enter('x');
    gate.failed('500');
    gate.leave();
    clock.ms += 1_000;
    for (const name of ['a', 'b', 'c']) void enter(name);
    await settle();
    expect(entered).toEqual(['x', 'a']);
    gate.succeeded();
    gate.leave();
    await settle();
    expect(entered).toEqual(['x', 'a', 'b', 'c']);
  });

  it('keeps every call out as long as a busy provider asks', async () => {
    const entered: string[] = [];
    const gate = new ProviderGate({ concurrency: 2 });
    const from = performance.now();
    gate.busy(120);
    await entering(gate, entered)('a');
    expect(performance.now() - from).toBeGreaterThanOrEqual(119);
  });

  it('forgets who does not wait any longer', async () => {
    const gate = gateAt({ ms: 0 }, 1);
    await gate.enter('a', NEVER);
    const ending = new AbortController();
    const waiting = gate.enter('a', ending.signal);
    ending.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    const next = gate.enter('b', NEVER);
    gate.leave();
    await next;
    await expect(gate.enter('c', AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
  });

  it('turns away more than it can hold', async () => {
    const gate = gateAt({ ms: 0 }, 1);
    await gate.enter('a', NEVER);
    for (let n = 0; n < 10_000; n++) void gate.enter('a', NEVER);
    await expect(gate.enter('a', NEVER)).rejects.toThrow(GateClosedError);
  });
});
