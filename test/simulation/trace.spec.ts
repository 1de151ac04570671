import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SimulationThreads } from './simulation-threads.js';

let threads: SimulationThreads;
beforeAll(() => void (threads = new SimulationThreads('crawl')));
afterAll(() => threads.stop());

async function traceOf(seed: number, mutant: string | null): Promise<{ text: string; messages: string[] }> {
  let text = '';
  const failures = await threads.trace(seed, (part) => void (text += part), mutant);
  return { text, messages: failures.map(({ message }) => message) };
}

describe('the trace of a seed', () => {
  it('names the faults that it takes to fail, and tells the events of a world without the others', async () => {
    const traces = [];
    for (let seed = 1; seed <= 12; seed++) traces.push({ seed, ...(await traceOf(seed, 'no fence')) });
    const failed = traces.filter(({ messages }) => messages.length > 0);
    for (const { messages } of failed) expect(messages).toEqual([expect.stringMatching(/^I4: .*commit on rev/)]);
    // What else a failure takes depends on its seed; some take nothing else.
    for (const { text } of failed) expect(text).toMatch(/^seed \d+ fails with no more than: .*second owner/);
    const { text } = failed.find(({ seed, text }) =>
      text.startsWith(`seed ${seed} fails with no more than: second owner\n`),
    )!;
    const events = text.trimEnd().split('\n').slice(1);
    expect(events.length).toBeGreaterThan(20);
    expect(text).toContain('gets a second owner');
    expect(text).not.toMatch(/simulated crash|has leapt|fetcher f\d dies/);
  }, 60_000);

  it('of one that does not fail has all of its events', async () => {
    const { text, messages } = await traceOf(1, null);
    expect(messages).toEqual([]);
    expect(text).toContain('from here on nothing fails');
  }, 60_000);
});
