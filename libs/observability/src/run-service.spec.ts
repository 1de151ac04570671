import { afterEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT_BAD_CONFIG, type ReadyMessage } from './run-service.js';

const LIBRARY = new URL('./index.js', import.meta.url).href;
const CONFIG = "{ logLevel: 'info', logFormat: 'json', metricsPort: 0, host: '127.0.0.1' }";
const RUNNING = "{ checks: { db: async () => undefined }, drain: async () => console.log('drained') }";
/** Says when it drains how many MB the young generation had before and after. */
const STARTS_WITH_GARBAGE = `async () => {
  const { getHeapSpaceStatistics } = await import('node:v8');
  const young = () => Math.round(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size / 2 ** 20);
  let kept = [];
  for (let i = 0; i < 400_000; i++) {
    kept.push({ i, of: [i] });
    if (kept.length > 100_000) kept = kept.slice(50_000);
  }
  const before = young();
  return { checks: {}, drain: async () => console.log('young', before, young()) };
}`;

const children: ChildProcess[] = [];
afterEach(() => children.splice(0).forEach((child) => child.kill('SIGKILL')));

interface Started {
  child: ChildProcess;
  /** Its output so far. */
  output(): string;
  ready: Promise<ReadyMessage>;
  ended: Promise<{ code: number | null; output: string }>;
}

/** A real process whose service is the given source of a start function. */
function runInProcess(start: string, readConfig = `() => (${CONFIG})`): Started {
  const script = `import { runService } from '${LIBRARY}'; await runService('demo', ${start}, { readConfig: ${readConfig} });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  children.push(child);
  let output = '';
  const streams = [child.stdout!, child.stderr!];
  for (const stream of streams) stream.on('data', (text: Buffer) => (output += text.toString()));
  // `close` never comes after a disconnect.
  const ends = streams.map((stream) => once(stream, 'end'));
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
  return {
    child,
    output: () => output,
    ready: new Promise((resolve) => child.once('message', (message) => resolve(message as ReadyMessage))),
    ended: Promise.all([exit, ...ends]).then(([code]) => ({ code, output })),
  };
}

describe('runService', () => {
  it('announces itself ready with the address of its health', async () => {
    const { ready } = runInProcess(`async () => (${RUNNING})`);
    const message = await ready;
    expect(message.instance).toMatch(/^demo-[0-9a-f]{8}$/);
    expect((await fetch(`${message.health}/health/readiness`)).status).toBe(200);
  });

  it('gives back the memory that starting took, the young generation included', async () => {
    const { child, ready, ended } = runInProcess(STARTS_WITH_GARBAGE);
    await ready;
    child.kill('SIGTERM');
    const [, before, after] = /young (\d+) (\d+)/.exec((await ended).output) ?? [];
    expect(Number(before)).toBeGreaterThanOrEqual(16);
    expect(Number(after)).toBeLessThanOrEqual(8);
  });

  it('drains on SIGTERM and ends with 0', async () => {
    const { child, ready, ended } = runInProcess(`async () => (${RUNNING})`);
    await ready;
    child.kill('SIGTERM');
    const { code, output } = await ended;
    expect(code).toBe(0);
    expect(output).toContain('drained');
  });

  it('ends when its supervisor is gone', async () => {
    const { child, ready, ended } = runInProcess(
      `async () => { setInterval(() => undefined, 1000); return ${RUNNING}; }`,
    );
    await ready;
    child.disconnect();
    expect((await ended).code).toBe(0);
  });

  it('ends with 1 and a log line on an error that was not caught', async () => {
    const { ended } = runInProcess(
      `async () => { setTimeout(() => { throw new Error('lost'); }, 20); return ${RUNNING}; }`,
    );
    const { code, output } = await ended;
    expect(code).toBe(1);
    expect(output).toContain('"message":"lost"');
  });

  it('ends with 1 when it cannot start', async () => {
    const { ended } = runInProcess(`async () => { throw new Error('no bus'); }`);
    const { code, output } = await ended;
    expect(code).toBe(1);
    expect(output).toContain('no bus');
  });

  it('ends with its own code when the settings are refused, so that it is not started again', async () => {
    const { ended } = runInProcess(`async () => (${RUNNING})`, "() => { throw new Error('PORT: bad'); }");
    const { code, output } = await ended;
    expect(code).toBe(EXIT_BAD_CONFIG);
    expect(output).toContain('PORT: bad');
  });

  it('ends at once on a second signal while it drains', async () => {
    const { child, ready, ended, output } = runInProcess(
      `async () => ({ checks: {}, drain: () => new Promise(() => undefined) })`,
    );
    await ready;
    child.kill('SIGTERM');
    while (!output().includes('demo drains')) await sleep(20);
    child.kill('SIGTERM');
    expect((await ended).code).toBe(1);
  });
});
