import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Reads the priority of the loop and of a thread that was there before. */
const PROGRAM = `
  import { getPriority } from 'node:os';
  import { Worker } from 'node:worker_threads';
  const { giveWayToThreads } = await import(process.argv[1]);
  const worker = new Worker(\`
    import { readlinkSync } from 'node:fs';
    import { getPriority } from 'node:os';
    import { parentPort } from 'node:worker_threads';
    const own = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    parentPort.on('message', () => parentPort.postMessage(getPriority(own)));
  \`, { eval: true });
  const before = getPriority(process.pid);
  giveWayToThreads();
  worker.postMessage('');
  worker.once('message', (thread) => {
    console.log(JSON.stringify({ before, loop: getPriority(process.pid), thread }));
    process.exit();
  });
`;

const onLinux = process.platform === 'linux' ? describe : describe.skip;

onLinux('the event loop', () => {
  it('gives way to threads that run already', async () => {
    const module = new URL('./thread-priority.js', import.meta.url).href;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', PROGRAM, module]);
    const { before, loop, thread } = JSON.parse(stdout) as Record<'before' | 'loop' | 'thread', number>;
    expect({ loop: loop - before, thread: thread - before }).toEqual({ loop: 4, thread: 0 });
  });
});
