/** Entry point of the thread that matches links; it may be ended at any time. */
import os from 'node:os';
import { parentPort } from 'node:worker_threads';
import type { ScopeRule } from '@troupe/contracts';
import { compileScope } from '@troupe/frontier';
import type { ThreadReply } from './bounded-thread.js';
import type { LinksQuestion } from './links.js';

if (parentPort === null) throw new Error('links.worker runs in a worker thread');
const port = parentPort;

/** On Linux a thread has a priority of its own: all other work of the machine comes before matching. */
const NICENESS = 10;
if (process.platform === 'linux') os.setPriority(NICENESS);

/** Milliseconds of this thread's own work; of the clock, before Node could tell. */
function workedMs(): number {
  if (typeof process.threadCpuUsage !== 'function') return performance.now();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function judge({ scope, urls, depth }: LinksQuestion): ThreadReply<(ScopeRule | null)[]> {
  try {
    const links = compileScope(scope).ofPage(workedMs);
    return { answer: urls.map((url) => links.check(url, depth)) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

port.on('message', (question: LinksQuestion) => port.postMessage(judge(question)));
port.postMessage('ready' satisfies ThreadReply<unknown>);
