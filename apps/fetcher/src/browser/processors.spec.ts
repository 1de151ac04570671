import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { loadReader, usableProcessors } from './processors.js';

const CORES = os.availableParallelism();

function burn(ms: number): void {
  const { user: from } = process.cpuUsage();
  while (process.cpuUsage().user - from < ms * 1000);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('processors', () => {
  let groups: string;
  const write = (file: string, text: string): void => writeFileSync(path.join(groups, file), text);

  beforeEach(() => {
    groups = mkdtempSync(path.join(os.tmpdir(), 'troupe-groups-'));
  });
  afterEach(() => rmSync(groups, { recursive: true }));

  it('are those of the machine without a limit', () => {
    expect(usableProcessors(groups)).toBe(CORES);
    write('cpu.max', 'max 100000\n');
    expect(usableProcessors(groups)).toBe(CORES);
  });

  it('are what the control group allows', () => {
    write('cpu.max', '50000 100000\n');
    expect(usableProcessors(groups)).toBe(0.5);
    write('cpu.max', `${CORES * 200_000} 100000\n`);
    expect(usableProcessors(groups)).toBe(CORES);
  });

  it('are in use as far as processes work', async () => {
    const read = loadReader(groups);
    await pause(50);
    read();
    burn(400);
    expect(read()).toBeGreaterThan(0.7 / CORES);
  });

  it('are busy when the control group has used what it may, however idle the machine is', async () => {
    write('cpu.max', '10000 100000\n');
    write('cpu.stat', 'usage_usec 5000000\nuser_usec 4000000\n');
    const beforeMs = performance.now();
    const read = loadReader(groups);
    const startedMs = performance.now();
    await pause(300);
    // One processor, ten times what is allowed.
    const usedUs = Math.round((performance.now() - startedMs) * 1000);
    write('cpu.stat', `usage_usec ${5_000_000 + usedUs}\nuser_usec 4000000\n`);
    const leastMs = performance.now() - startedMs;
    const load = read();
    const mostMs = performance.now() - beforeMs;
    // The reader looked at its clock somewhere between: however late this process was, the load lies between the two.
    const loadOver = (ms: number): number => usedUs / 1000 / ms / 0.1;
    expect(load).toBeGreaterThanOrEqual(loadOver(mostMs));
    expect(load).toBeLessThanOrEqual(loadOver(leastMs));
  });
});
