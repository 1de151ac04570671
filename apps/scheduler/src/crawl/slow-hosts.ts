/**
 * Hosts of a job that are not treated as their settings allow, and for how long. The job's status and its last warning
 * name them.
 */
import { completeSpec, type HostState, type PageResult } from '@troupe/contracts';
import type { JobMemory, JobState, SlowHost } from './job.state.js';

const MAX_SHOWN = 10;
const MAX_REMEMBERED = 20;
const MAX_WARNED_OF = 3;
/** Share of the run: less is not worth a warning. */
const WORTH_TELLING = 0.1;
const MAX_URL_CHARS = 200;
const WORST_FIRST: readonly HostState[] = ['down', 'held', 'paused', 'slowed', 'open'];

/** True when what the status shows has changed. */
export function noteHosts(state: JobState, memory: JobMemory, wallMs: number): boolean {
  const before = shownHosts(state).join();
  for (const host of new Set([...Object.keys(state.hosts), ...Object.keys(state.slow ?? {})])) {
    const now = state.hosts[host] === undefined ? 'open' : (memory.hosts.get(host)?.state ?? stateOf(state, host));
    note(state, host, now, wallMs);
  }
  return shownHosts(state).join() !== before;
}

/** After a change of owner the state is unknown until the host's actor speaks again. Until then it stays as it was. */
function stateOf(state: JobState, host: string): HostState {
  return state.slow?.[host]?.state ?? 'open';
}

function note(state: JobState, host: string, next: HostState, wallMs: number): void {
  const known = state.slow?.[host];
  const now = next === 'open' ? null : next;
  if (known === undefined ? now === null : known.state === now) return;
  const entry = known ?? { state: null, since: wallMs, ms: {} };
  settle(entry, wallMs);
  entry.state = now;
  state.slow = { ...state.slow, [host]: entry };
  forgetTheLeast(state.slow);
}

function settle(entry: SlowHost, wallMs: number): void {
  if (entry.state !== null) entry.ms[entry.state] = (entry.ms[entry.state] ?? 0) + Math.max(0, wallMs - entry.since);
  entry.since = wallMs;
}

function forgetTheLeast(slow: Record<string, SlowHost>): void {
  const past = Object.keys(slow).filter((host) => slow[host]!.state === null);
  if (Object.keys(slow).length <= MAX_REMEMBERED || past.length === 0) return;
  past.sort((a, b) => totalOf(slow[a]!) - totalOf(slow[b]!));
  delete slow[past[0]!];
}

const totalOf = ({ ms }: SlowHost): number => Object.values(ms).reduce((sum, part) => sum + part, 0);

/** Names, worst first. */
export function shownHosts({ slow, status }: JobState): string[] {
  if (slow === undefined || status !== 'scraping') return [];
  const rank = (host: string) => WORST_FIRST.indexOf(slow[host]!.state!);
  return Object.keys(slow)
    .filter((host) => slow[host]!.state !== null)
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, MAX_SHOWN);
}

/** Notes what the job itself has seen on a host that is slowed. */
export function noteTrouble(state: JobState, host: string, page: PageResult): void {
  const entry = state.slow?.[host];
  if (entry === undefined || !page.retryable) return;
  const what = page.statusCode === 0 ? (page.rule ?? 'no answer') : String(page.statusCode);
  const isKept = !completeSpec(state.spec!.scrape).zeroRetention;
  entry.trouble = isKept ? `${what} at ${page.url.slice(0, MAX_URL_CHARS)}` : what;
}

/** Sentences for the end of the job: hosts that were not treated as allowed for a tenth of its run. */
export function slowWarnings(state: JobState, wallMs: number): string[] {
  const runMs = Math.max(1, wallMs - state.createdMs);
  const entries = Object.entries(state.slow ?? {});
  for (const [, entry] of entries) settle(entry, wallMs);
  return entries
    .filter(([, entry]) => totalOf(entry) >= WORTH_TELLING * runMs)
    .sort(([, a], [, b]) => totalOf(b) - totalOf(a))
    .slice(0, MAX_WARNED_OF)
    .map(([host, entry]) => sentence(host, entry));
}

function sentence(host: string, entry: SlowHost): string {
  const [state] = Object.entries(entry.ms).reduce((most, next) => (next[1] > most[1] ? next : most));
  const { trouble } = entry;
  return `${host} was ${state} for ${spanOf(totalOf(entry))}${trouble === undefined ? '' : `: ${trouble}`}.`;
}

function spanOf(ms: number): string {
  return ms < 90_000 ? `${Math.max(1, Math.round(ms / 1000))} s` : `${Math.round(ms / 60_000)} min`;
}
