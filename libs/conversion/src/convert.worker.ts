/** Entry point of a conversion thread. */
import { errorToWire } from '@troupe/contracts';
import { parentPort } from 'node:worker_threads';
import { convertInThread } from './convert-in-thread.js';
import { ownBytes, type Task, type WorkerReply } from './worker-protocol.js';

if (parentPort === null) throw new Error('convert.worker runs in a worker thread');
const port = parentPort;
const reply = (message: WorkerReply, transfer: ArrayBuffer[] = []): void => port.postMessage(message, transfer);

port.on('message', ({ id, request }: Task) => {
  try {
    const result = convertInThread(request);
    const document = ownBytes(result.document);
    reply({ type: 'done', id, result: { ...result, document } }, [document.buffer]);
  } catch (error) {
    reply({ type: 'failed', id, error: errorToWire(error) });
  }
});
reply({ type: 'ready' });
