import { describeSimulation } from './describe-simulation.js';
import { RUNTIME_MUTANTS } from './mutants.js';
import { shareOfSeeds } from './seeds.js';

const SEEDS = shareOfSeeds(0.1);

describeSimulation('runtime', {
  title: 'crawls on replicas that die, freeze, lose leases and share partitions',
  seeds: SEEDS,
  mutants: Object.keys(RUNTIME_MUTANTS),
  // Each shows itself within the first ten.
  seedsWithError: 2 * SEEDS,
});
