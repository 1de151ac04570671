/** Lists of the operator, compiled in a thread of their own: large ones take seconds. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { Worker } from 'node:worker_threads';

const TIMEOUT_MS = 60_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_HEAP_MB = 1024;

/**
 * The engine of all `*.txt` of a folder and of `more`, serialised.
 * @throws Error naming the folder when it cannot be read, holds no list or more than 64 MiB of them, or when they cannot be compiled
 */
export async function compileLists(dir: string, more: string): Promise<Uint8Array> {
  const lists = await readLists(dir).catch((error: unknown) => {
    throw new Error(`the filter lists in ${dir} cannot be read: ${(error as Error).message}`);
  });
  return compile([...lists, more].join('\n')).catch((error: unknown) => {
    throw new Error(`the filter lists in ${dir} cannot be compiled: ${(error as Error).message}`);
  });
}

async function readLists(dir: string): Promise<string[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.txt')).sort();
  if (names.length === 0) throw new Error('there is no *.txt');
  const lists: string[] = [];
  let bytes = 0;
  for (const name of names) {
    const list = await readFile(path.join(dir, name));
    bytes += list.length;
    if (bytes > MAX_BYTES) throw new Error(`they are larger than ${MAX_BYTES} bytes`);
    lists.push(list.toString('utf8'));
  }
  return lists;
}

function compile(text: string): Promise<Uint8Array> {
  const worker = new Worker(new URL('./list-compiler.worker.js', import.meta.url), {
    workerData: text,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  const timer = setTimeout(() => void worker.terminate(), TIMEOUT_MS);
  return new Promise<Uint8Array>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error(`it took longer than ${TIMEOUT_MS} ms`)));
  }).finally(() => clearTimeout(timer));
}
