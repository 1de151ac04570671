/** Entry point of the thread that compares texts. */
import { parentPort } from 'node:worker_threads';
import { diffTexts, type TextDiff } from './text-diff.js';

export interface DiffTask {
  before: string;
  after: string;
  timeoutMs: number;
}

export type DiffReply = TextDiff | null;

if (parentPort === null) throw new Error('diff.worker runs in a worker thread');
const port = parentPort;
port.on('message', ({ before, after, timeoutMs }: DiffTask) => {
  port.postMessage(diffTexts(before, after, timeoutMs) satisfies DiffReply);
});
