/** Whether Chromium can have its sandbox here, found out by starting it. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { browserEnvironment } from './environment.js';

/** `require`: no browser without it; `auto`: without it where it cannot be had; `off`: it is not tried. */
export type SandboxMode = 'require' | 'auto' | 'off';

export interface Sandbox {
  isOn: boolean;
  /** Why it is not; empty when it is. */
  why: string;
}

const START_MS = 60_000;
const KEPT_OUTPUT = 64 * 1024;
/** Message of Chromium when it gives up for want of the sandbox. */
const SANDBOX_LINE = /sandbox|zygote_host|namespace/i;

/** Starts each program once on an empty page, with its sandbox, unless the answer is known. Never rejects. */
export async function findSandbox(programs: readonly string[], wish: SandboxMode): Promise<Sandbox> {
  if (wish === 'off') return { isOn: false, why: 'BROWSER_SANDBOX=off' };
  if (process.getuid?.() === 0) return { isOn: false, why: 'root cannot have it: run as an ordinary user' };
  for (const program of new Set(programs)) {
    const problem = await startSandboxed(program);
    if (problem !== null) return { isOn: false, why: `${program} does not start with it: ${problem}` };
  }
  return { isOn: true, why: '' };
}

/** null: it started. */
async function startSandboxed(program: string): Promise<string | null> {
  const folder = await mkdtemp(path.join(tmpdir(), 'troupe-sandbox-'));
  try {
    return await run(program, folder);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function run(program: string, folder: string): Promise<string | null> {
  const args = ['--headless', '--disable-gpu', '--no-first-run', '--disable-background-networking'];
  const child = spawn(program, [...args, `--user-data-dir=${folder}`, '--dump-dom', 'data:text/html,here'], {
    env: { ...browserEnvironment(), TMPDIR: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
    // Processes it leaves behind go with its group.
    detached: true,
  });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-KEPT_OUTPUT)));
  return new Promise((resolve, reject) => {
    const kill = (): void => {
      if (child.pid !== undefined) killGroup(child.pid);
    };
    const timer = setTimeout(kill, START_MS);
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      kill();
      resolve(code === 0 ? null : problemOf(output, `it ended with ${code ?? signal}`));
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing is left of it.
  }
}

function problemOf(output: string, otherwise: string): string {
  const line = output.split('\n').find((text) => SANDBOX_LINE.test(text)) ?? otherwise;
  return line.replace(/^\[[^\]]*\]\s*/, '').slice(0, 300);
}
