/**
 * No job stays open for ever. A job that no actor works on, and that no actor was told of, is started again, twice at
 * most. Then it fails.
 */
import type { ActorRuntime } from '@troupe/actors';
import type { Logger } from '@troupe/observability';
import type { LostJob, LostJobRepository } from '@troupe/persistence';
import { LEADER_PARTITION, type Chore } from './rounds.js';

export const NOT_STARTED = 'The job could not be started';
const NOT_ENDED = 'the job did not finish within 48 hours';

export interface LostJobParts {
  jobs: Pick<LostJobRepository, 'find' | 'restart' | 'fail'>;
  runtime: Pick<ActorRuntime, 'partitions'>;
  /** Age from which a job that has not begun counts as lost; a round is due twice in that time. */
  lostAfterMs: number;
  log: Pick<Logger, 'info' | 'warn'>;
}

export class LostJobs implements Chore {
  private isRunning = false;

  constructor(private readonly parts: LostJobParts) {}

  get everyMs(): number {
    return this.parts.lostAfterMs / 2;
  }

  async round(): Promise<void> {
    const { jobs, runtime, lostAfterMs, log } = this.parts;
    if (this.isRunning || !runtime.partitions.includes(LEADER_PARTITION)) return;
    this.isRunning = true;
    try {
      for (const lost of await jobs.find(lostAfterMs)) await this.restartOrFail(lost);
    } catch (error) {
      log.warn({ err: error }, 'lost jobs were not looked for; the next round tries again');
    } finally {
      this.isRunning = false;
    }
  }

  /** A failure with one job does not keep the others waiting. */
  private async restartOrFail(lost: LostJob): Promise<void> {
    const { jobs, log } = this.parts;
    const { job, why } = lost;
    try {
      if (why === 'unstarted' && (await jobs.restart(lost))) {
        log.warn({ job }, 'a job had neither an actor nor a command: its start is recorded again');
        return;
      }
      await jobs.fail(job, why === 'endless' ? NOT_ENDED : NOT_STARTED);
      log.warn({ job, why }, 'a job that no actor works on has failed');
    } catch (error) {
      log.warn({ job, err: error }, 'a lost job was neither started nor failed; the next round tries again');
    }
  }
}
