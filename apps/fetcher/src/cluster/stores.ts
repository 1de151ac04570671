/** Postgres and the blob store: open while anything else of this fetcher runs. */
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { HealthChecks } from '@troupe/observability';
import type { OpenBlobs } from '@troupe/blob-store';
import { createPool } from '@troupe/persistence';
import { serves, type BrowsersHere } from './browsers-here.js';
import { BROWSERS_HERE, CONFIG, servesHttp, type Config } from './process.js';

export type Pool = ReturnType<typeof createPool>;
export const POOL = Symbol('Pool');
export const BLOBS = Symbol('OpenBlobs');
export const RESULT_BLOBS = Symbol('blobs of results');
export const ERASABLE_BLOBS = Symbol('blobs of jobs with zero data retention');
export const SNAPSHOT_BLOBS = Symbol('blobs of earlier texts');

@Injectable()
export class Stores implements OnApplicationShutdown {
  /** Health checks of the services that this fetcher cannot work without. */
  readonly checks: HealthChecks;

  constructor(
    @Inject(POOL) private readonly pool: Pool,
    @Inject(BLOBS) private readonly blobs: OpenBlobs,
    @Inject(CONFIG) config: Config,
    @Inject(BROWSERS_HERE) here: BrowsersHere,
  ) {
    this.checks = {
      postgres: async () => void (await pool.query('SELECT 1')),
      blobs: () => blobs.check(),
      ...(serves(config, 'browser') ? { browser: browserCheck(here.absence, servesHttp(config)) } : {}),
    };
  }

  async onApplicationShutdown(): Promise<void> {
    this.blobs.close();
    await this.pool.end();
  }
}

/** A fetcher that is only to show pages is of no use without a browser. */
function browserCheck(absence: string, servesPages: boolean): HealthChecks[string] {
  const check = async (): Promise<void> => {
    if (absence !== '') throw new Error(absence);
  };
  return servesPages ? { optional: check } : check;
}
