/**
 * Starts tasks as places become free, in their order; one that needs more than is free lets smaller ones go first.
 *
 * @template {{ places: number }} T
 * @template R
 * @param {T[]} tasks
 * @param {number} places at least what the largest task needs
 * @param {(task: T) => Promise<R>} run
 * @returns {Promise<R[]>} in the order of the tasks
 */
export async function runInPlaces(tasks, places, run) {
  const waiting = tasks.map((task, i) => ({ task, i }));
  const results = /** @type {R[]} */ (new Array(tasks.length));
  /** @type {Set<Promise<void>>} */
  const running = new Set();
  let free = places;
  while (waiting.length > 0 || running.size > 0) {
    const next = waiting.findIndex(({ task }) => task.places <= free);
    if (next === -1) {
      if (running.size === 0) throw new Error(`no task of ${waiting.length} fits into ${places} places`);
      await Promise.race(running);
      continue;
    }
    const [{ task, i }] = waiting.splice(next, 1);
    free -= task.places;
    const done = run(task).then((result) => {
      results[i] = result;
      free += task.places;
      running.delete(done);
    });
    running.add(done);
  }
  return results;
}
