import { describe, expect, it } from '@jest/globals';
import { parseRobots, type RobotsFile } from '@troupe/politeness';
import { RobotsJudge } from './robots-judge.js';

const never = new AbortController().signal;
const RULES = parseRobots('User-agent: Troupe\nDisallow: /a\n\nUser-agent: other\nDisallow: /b\n');

function judgeOf(rulesFor: (url: string, signal: AbortSignal) => Promise<RobotsFile>) {
  return new RobotsJudge({ rulesFor }, 'Troupe');
}

describe('verdicts of robots.txt', () => {
  const urls = ['http://x.test/a', 'http://x.test/b', 'http://x.test/c'];

  it('are given in order, for our own name or for another, and each host is asked once', async () => {
    const asked: string[] = [];
    const judge = judgeOf((url) => {
      asked.push(url);
      return Promise.resolve(RULES);
    });
    const ask = (agent: string | null) => judge.judge({ agent, urls, deadlineMs: 1_000 }, never);
    expect(await ask(null)).toEqual({ allowed: [false, true, true] });
    expect(await ask('other')).toEqual({ allowed: [true, false, true] });
    expect(asked).toHaveLength(2);
  });

  it('forbid everything on a host whose rules cannot be read, and nothing on the others', async () => {
    const judge = judgeOf((url) => (url.includes('dead') ? Promise.reject(new Error('down')) : Promise.resolve(RULES)));
    const request = { agent: null, urls: ['http://dead.test/', 'http://x.test/'], deadlineMs: 1_000 };
    expect(await judge.judge(request, never)).toEqual({ allowed: [false, true] });
  });

  it('come in time, however many hosts say nothing', async () => {
    const hang = (_url: string, signal: AbortSignal) =>
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('late'))));
    const judge = judgeOf((url, signal) => (url.includes('slow') ? hang(url, signal) : Promise.resolve(RULES)));
    const slow = Array.from({ length: 20 }, (_, i) => `http://slow${i}.test/`);
    const { allowed } = await judge.judge({ agent: null, urls: ['http://x.test/', ...slow], deadlineMs: 50 }, never);
    expect(allowed).toEqual([true, ...slow.map(() => false)]);
  });
});
