/** Entry point of the thread that compiles filter lists. */
import { parentPort, workerData } from 'node:worker_threads';
import { FiltersEngine } from '@ghostery/adblocker';

if (parentPort === null) throw new Error('list-compiler.worker runs in a worker thread');
parentPort.postMessage(FiltersEngine.parse(workerData as string, { enableCompression: false }).serialize());
