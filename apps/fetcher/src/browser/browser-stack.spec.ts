/** In a process of its own, since what is loaded stays loaded. */
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';

const STACK = new URL('./browser-stack.js', import.meta.url).href;

/** Loads the stack beside a heartbeat; all times in ms. */
const PROGRAM = `
  const { loadBrowserStack } = await import(${JSON.stringify(STACK)});
  let beatAt = performance.now(), longestMs = 0;
  const beat = () => { const now = performance.now(); longestMs = Math.max(longestMs, now - beatAt); beatAt = now; };
  const timer = setInterval(beat, 1);
  const startedAt = performance.now();
  const { PageCrawler, chromium } = await loadBrowserStack();
  beat();
  clearInterval(timer);
  const wholeMs = performance.now() - startedAt;
  console.log(JSON.stringify({ wholeMs, longestMs, name: chromium.name(), crawler: typeof PageCrawler }));
  process.exit(0);
`;

describe('the browser stack', () => {
  it('is loaded in parts, between which the heart beats', () => {
    const run = () =>
      JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', PROGRAM], { encoding: 'utf8' })) as {
        wholeMs: number;
        longestMs: number;
        name: string;
        crawler: string;
      };
    // A machine that is busy for a moment may hold one part up; hardly the same one twice.
    const shares = [run(), run()].map((found) => {
      expect(found).toMatchObject({ name: 'chromium', crawler: 'function' });
      return found.longestMs / found.wholeMs;
    });
    expect(Math.min(...shares)).toBeLessThan(0.5);
  }, 120_000);
});
