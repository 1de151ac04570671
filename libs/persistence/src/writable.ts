/** Whether Postgres can write: with a full disk it answers every question as ever and refuses what needs a page more. */
import type pg from 'pg';

const DISK_FULL = '53100';
/** A refused write is tried again sooner, as long as it is refused. */
const RECENT_MS = 15_000;

interface Refusal {
  atMs: number;
  reason: string;
}

const refusals = new WeakMap<pg.Pool, Refusal>();

/** Remembers an error of the pool's that says so. */
export function noteRefusal(pool: pg.Pool, error: unknown, now = performance.now()): void {
  if (error instanceof Error && 'code' in error && error.code === DISK_FULL)
    refusals.set(pool, { atMs: now, reason: error.message });
}

/** @throws the reason when Postgres does not answer, or has refused to write for want of room in the last 15 s */
export async function checkPostgres(pool: pg.Pool, now: () => number = () => performance.now()): Promise<void> {
  await pool.query('SELECT 1');
  const refusal = refusals.get(pool);
  if (refusal !== undefined && now() - refusal.atMs < RECENT_MS)
    throw new Error(`the disk of Postgres is full: ${refusal.reason}`);
}
