/** Entry point of the thread that matches links; it may be ended at any time. */
import { parentPort } from 'node:worker_threads';
import type { ScopeRule } from '@troupe/contracts';
import { compileScope } from '@troupe/frontier';
import type { JudgeReply } from './judge-thread.js';
import type { LinksQuestion } from './links.js';

if (parentPort === null) throw new Error('links.worker runs in a worker thread');
const port = parentPort;

function judge({ scope, urls, depth }: LinksQuestion): JudgeReply<(ScopeRule | null)[]> {
  try {
    const links = compileScope(scope).ofPage(() => performance.now());
    return { answer: urls.map((url) => links.check(url, depth)) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

port.on('message', (question: LinksQuestion) => port.postMessage(judge(question)));
port.postMessage('ready' satisfies JudgeReply<unknown>);
