import { setImmediate as breathe } from 'node:timers/promises';

const SLICE_MS = 5;

/** Runs long work to its end without holding up whatever else the process does. */
export async function inSlices<T>(steps: Generator<unknown, T, void>): Promise<T> {
  let sliceEndMs = performance.now() + SLICE_MS;
  let step = steps.next();
  while (step.done !== true) {
    if (performance.now() >= sliceEndMs) {
      await breathe();
      sliceEndMs = performance.now() + SLICE_MS;
    }
    step = steps.next();
  }
  return step.value;
}
