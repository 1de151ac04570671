import { describeSimulation } from './describe-simulation.js';
import { MODEL_MUTANTS } from './mutants.js';

/** A world of theirs holds the crawls of several jobs: a tenth of the seeds of crawls, and enough for every planted error. */
const SEEDS = Math.max(100, Math.ceil(Number(process.env.SIMULATION_SEEDS ?? 1_000) / 10));

describeSimulation('model', {
  title: 'extract jobs and their children under loss, repetition, crashes of schedulers, fetchers and extractors',
  seeds: SEEDS,
  mutants: Object.keys(MODEL_MUTANTS),
  // The rarest error shows itself once in some hundred seeds; the search ends with the first.
  seedsWithError: 5 * SEEDS,
});
