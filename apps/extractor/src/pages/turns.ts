/** Splits long computations into slices, so that other work of the process runs in between. */
import { setImmediate as nextRound } from 'node:timers/promises';

const SLICE_MS = 5;
let last: Promise<unknown> = Promise.resolve();

/** Before a few milliseconds of work: one turn in each round of the event loop, in the order of asking. */
export function takeTurn(): Promise<unknown> {
  last = last.then(() => nextRound());
  return last;
}

/** Runs long work to its end in slices. */
export async function inSlices<T>(steps: Generator<unknown, T, void>): Promise<T> {
  let sliceEndMs = performance.now() + SLICE_MS;
  let step = steps.next();
  while (step.done !== true) {
    if (performance.now() >= sliceEndMs) {
      await takeTurn();
      sliceEndMs = performance.now() + SLICE_MS;
    }
    step = steps.next();
  }
  return step.value;
}
