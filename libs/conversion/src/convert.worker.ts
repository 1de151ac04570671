/** Entry point of a conversion thread. */
import { errorToWire } from '@troupe/contracts';
import { parentPort, workerData } from 'node:worker_threads';
import { CommandOcr } from './command-ocr.js';
import { convertInThread } from './convert-in-thread.js';
import { ownBytes, resultToWire, type Task, type WorkerReply, type WorkerSettings } from './worker-protocol.js';

if (parentPort === null) throw new Error('convert.worker runs in a worker thread');
const port = parentPort;
const reply = (message: WorkerReply, transfer: ArrayBuffer[] = []): void => port.postMessage(message, transfer);

const { ocrCommand } = workerData as WorkerSettings;
const ocr = ocrCommand === null ? null : new CommandOcr(ocrCommand);

async function run({ id, request }: Task): Promise<void> {
  try {
    const result = await convertInThread(request, ocr);
    const document = ownBytes(result.document);
    reply({ type: 'done', id, result: { ...resultToWire(result), document } }, [document.buffer]);
  } catch (error) {
    reply({ type: 'failed', id, error: errorToWire(error) });
  }
}

port.on('message', (task: Task) => void run(task));
reply({ type: 'ready' });
