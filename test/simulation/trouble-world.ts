/**
 * Crawls of hosts that refuse everything for a while, or for good, on top of all that may happen to schedulers, fetchers
 * and messages: their actors find them down, probe them and open them again, or give them up, and every crawl ends.
 */
import type { Random } from '@troupe/actors';
import { CrawlWorld } from './crawl-world.js';
import type { WorldOptions } from './stage.js';

const GIVE_UP_MS = 120_000;

export class TroubleWorld extends CrawlWorld {
  constructor(seed: number, options: WorldOptions = {}) {
    super(seed, { ...options, outage: outageOf, giveUpMs: GIVE_UP_MS });
  }

  /** As their actors have found the hosts: the worlds are to have seen all of it. */
  get states(): ReadonlySet<string> {
    return this.fetchers.states;
  }

  /** URLs that were given up with their host. */
  get leftUrls(): number {
    const outcomes = this.jobs.all.flatMap(({ jobNo }) => [...this.stage.store.job(jobNo).outcomes.values()]);
    return outcomes.filter(({ rule }) => rule === 'host-down').length;
  }
}

function outageOf(random: Random): { from: number; to: number } {
  const from = random.int(0, 40_000);
  const isForGood = random.chance(0.2);
  return { from, to: isForGood ? Infinity : from + random.int(5_000, 90_000) };
}
