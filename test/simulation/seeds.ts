/** Which seeds a run tries: the fixed ones, and as many that no run of another commit has tried. */
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { workspace } from '../support/cluster.js';

export interface SeedRange {
  first: number;
  last: number;
}

/** Of `SIMULATION_SEED`: this seed alone is run, and its events are printed. Null: all are. */
export const ONE_SEED = readSeed(process.env.SIMULATION_SEED);

function readSeed(text: string | undefined): number | null {
  if (text === undefined || text === '') return null;
  if (!/^\d{1,10}$/.test(text) || Number(text) >= 2 ** 32)
    throw new Error(`SIMULATION_SEED is a whole number below 4294967296, not ${text}`);
  return Number(text);
}

/** Fixed ones of all worlds together. */
const ALL_SEEDS = Number(process.env.SIMULATION_SEEDS ?? 1_000);

/** The worlds share them: some take longer than others. */
export function shareOfSeeds(share: number): number {
  return Math.max(20, Math.ceil(ALL_SEEDS * share));
}

export function fixedSeeds(count: number): SeedRange {
  return { first: 1, last: count };
}

/** The same ones in every run of a commit, far from the fixed ones; without a repository others each time. */
export function freshSeeds(count: number): SeedRange {
  const hash = createHash('sha256').update(commitHash() ?? randomBytes(32));
  const first = 1_000_000 + (hash.digest().readUInt32BE(0) % 4_000_000_000);
  return { first, last: first + count - 1 };
}

export function commitHash(): string | null {
  const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: workspace, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}
