/** Links that a scope rule left out: all of them counted, distinct ones kept up to a cap. */
import type { ExcludedLinks } from '@troupe/contracts';
import type { Effect } from '@troupe/actors';
import type { JobMemory, JobState } from './job.state.js';

const KEPT = 10_000;

/** `parent`: the page that named them, null for sitemaps. */
export function leaveOut(
  state: JobState,
  memory: JobMemory,
  { byRule, sample }: ExcludedLinks,
  parent: number | null,
): Effect[] {
  for (const [rule, n] of Object.entries(byRule)) state.excluded[rule] = (state.excluded[rule] ?? 0) + n;
  const effects: Effect[] = [];
  for (const { h, url, rule } of sample) {
    if (state.excludedKept >= KEPT) break;
    if (memory.leftOut.has(h)) continue;
    memory.leftOut.add(h);
    state.excludedKept += 1;
    effects.push({ t: 'row', row: { op: 'excluded.insert', jobNo: state.jobNo, h, url, rule, parent } });
  }
  return effects;
}
