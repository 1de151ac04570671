import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { browsersHere } from '@troupe/testing';
import { startSite, type Site } from '@troupe/testing';
import { descendantsOf, processes, type Proc } from '@troupe/testing';

const canRun = process.platform === 'linux' && browsersHere !== null;

const alive = (pids: Set<number>): Proc[] => processes().filter((proc) => pids.has(proc.pid) && proc.state !== 'Z');
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let site: Site | null = null;
let child: ChildProcess | null = null;

afterEach(async () => {
  child?.kill('SIGKILL');
  await site?.close();
});

(canRun ? describe : describe.skip)('the guard of the browser', () => {
  it('leaves no process and no profile behind when the process that started the browser is killed with -9', async () => {
    let arrived: () => void = () => undefined;
    const shown = new Promise<void>((resolve) => (arrived = resolve));
    site = await startSite((request, response) => {
      if (request.url === '/up') arrived();
      response.setHeader('content-type', 'text/html');
      response.end(`<script>fetch('/up'); setTimeout(() => { for (;;); }, 300)</script>`);
    });
    child = spawn(process.execPath, [
      fileURLToPath(new URL('browser-child.fixture.js', import.meta.url)),
      `${site.origin}/`,
    ]);
    await shown;
    await pause(1_000);
    const family = descendantsOf(child.pid ?? 0);
    const profile = /--user-data-dir=(\S+)/.exec(family.map((proc) => proc.command).join(' '))?.[1] ?? '';
    expect(family.filter((proc) => proc.command.includes('--type=renderer')).length).toBeGreaterThan(0);
    expect(existsSync(profile)).toBe(true);

    child.kill('SIGKILL');
    const pids = new Set(family.map((proc) => proc.pid));
    for (let i = 0; i < 150 && alive(pids).length > 0; i++) await pause(100);
    expect(alive(pids)).toEqual([]);
    expect(existsSync(profile)).toBe(false);
  });
});
