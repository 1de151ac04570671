/** The services of a cluster and what V8 may take for each. */
import os from 'node:os';

/**
 * `oldSpaceMb` bounds the heap, `semiSpaceMb` the young generation: idle services stay small, busy ones get room to let
 * short-lived garbage die young.
 */
const MEMORY = {
  gateway: { oldSpaceMb: 256, semiSpaceMb: 8 },
  scheduler: { oldSpaceMb: 512, semiSpaceMb: 8 },
  fetcher: { oldSpaceMb: 768, semiSpaceMb: 8 },
  converter: { oldSpaceMb: 512, semiSpaceMb: 16 },
  extractor: { oldSpaceMb: 512, semiSpaceMb: 8 },
  dispatcher: { oldSpaceMb: 256, semiSpaceMb: 8 },
};

/**
 * Threads of V8 for compiling and collecting garbage. Its own choice is four a process: on few cores they wait for one
 * another, and for the services.
 */
const V8_THREADS = Math.max(1, Math.min(4, os.availableParallelism() - 1));

/**
 * @typedef {object} Service
 * @property {string} name `fetcher`, `fetcher-2`, …
 * @property {keyof typeof MEMORY} app
 * @property {string[]} flags of node
 */

/**
 * @param {{ fetchers: number, schedulers: number, gateways: number, converters: number }} replicas
 * @returns {Service[]}
 */
export function listServices(replicas) {
  const counts = {
    scheduler: replicas.schedulers,
    fetcher: replicas.fetchers,
    converter: replicas.converters,
    extractor: 1,
    dispatcher: 1,
    gateway: replicas.gateways,
  };
  return Object.entries(counts).flatMap(([app, count]) =>
    Array.from({ length: count }, (_, i) => describeService(/** @type {keyof typeof MEMORY} */ (app), i)),
  );
}

/** @param {keyof typeof MEMORY} app @param {number} index @returns {Service} */
function describeService(app, index) {
  const { oldSpaceMb, semiSpaceMb } = MEMORY[app];
  return {
    name: index === 0 ? app : `${app}-${index + 1}`,
    app,
    flags: [
      `--max-old-space-size=${oldSpaceMb}`,
      `--max-semi-space-size=${semiSpaceMb}`,
      `--v8-pool-size=${V8_THREADS}`,
    ],
  };
}
