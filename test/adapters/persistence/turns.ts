/** Turns as short as a test wants them. */
import type { TurnHead, TurnWrites } from '@troupe/actors';
import type { ActorKey, Candidate, JobNo } from '@troupe/contracts';
import { createHash } from 'node:crypto';

export const PART = 7;

export function head(epoch: number, fences: TurnHead['fences'], more: Partial<TurnHead> = {}): TurnHead {
  return { part: PART, epoch, fences, candidates: [], seeds: [], ...more };
}

export function writes(actors: TurnWrites['actors'], more: Partial<TurnWrites> = {}): TurnWrites {
  return { actors, outbox: [], cursors: [], timers: [], rows: [], deadLetters: [], ...more };
}

export function step(key: ActorKey, rev: number, state: unknown = { rev }): TurnWrites['actors'][number] {
  return { key, rev, state: JSON.stringify(state), terminal: false };
}

export function candidate(jobNo: JobNo, item: number, url: string, depth = 1, parent: number | null = null): Candidate {
  const h = createHash('sha256').update(url).digest('hex').slice(0, 16);
  return { jobNo, item, url, depth, h, host: new URL(url).host, parent };
}
