/**
 * Robots and sitemaps of a crawl: open files, repeated questions, and their URLs (docs/design/frontier.md, "Robots and
 * sitemaps").
 */
import { scrapeIdOf, type ActorKey, type Kick, type RobotsDone, type SitemapChunk } from '@troupe/contracts';
import type { CrawlSpec } from '@troupe/contracts';
import type { Effect } from '@troupe/actors';
import { hostKey, MAX_URL_CHARS } from '@troupe/frontier';
import { spareRoom } from './admission.js';
import { HISTORY_KICK, scopeOf, type JobMemory, type JobState, type OpenSitemap } from './job.state.js';
import { howManyFit, isNearlyRead } from './sitemap-window.js';
import type { HistoryFound } from './findings.js';

const KICK_PATIENCE_MS = 60_000;
const KICK_PATIENCE_MAX_MS = 900_000;
const CHUNKS_AT_ONCE = 20;
/** On each level: an index that waits for its files does not keep them from being opened. */
const SITEMAPS_AT_ONCE = 4;
/** Answers without the sitemaps of an earlier one, before the known sitemaps have to do. */
const ROBOTS_TRIES = 5;
/** A waiting file is read on when there is room for so many candidates, or for half of what there can ever be. */
const ROOM_TO_GO_ON = 2_000;

function hasRoom(state: JobState): boolean {
  return spareRoom(state) >= Math.min(ROOM_TO_GO_ON, (spareRoom(state) + state.ready) / 2);
}

export function wantsSitemaps(state: JobState): boolean {
  return state.scope !== null && (state.spec as CrawlSpec).scope.sitemap !== 'skip' && state.full !== true;
}

/** No more URLs can come from sitemaps. */
export function isKickoffDone(state: JobState): boolean {
  return (
    !wantsSitemaps(state) ||
    (state.robotsKnown && state.pendingSitemaps.length === 0 && Object.keys(state.openSitemaps).length === 0)
  );
}

/** Not all of the chunk could be taken in: it is asked for again when there is room. */
export function defer(memory: JobMemory, file: number, entry: OpenSitemap): void {
  entry.waiting = true;
  if (entry.taken !== undefined) memory.kicks.delete(String(file));
}

export class Kickoff {
  constructor(
    private readonly key: ActorKey,
    private readonly state: JobState,
    private readonly memory: JobMemory,
    private readonly now: number,
    private readonly agent: string,
  ) {}

  /** Asks for all open and unanswered work, and repeats with growing patience (a cluster without fetchers waits). */
  ask(): Effect[] {
    const { state } = this;
    if (state.full === true) this.giveUp();
    if (state.phase !== 'running' || state.paused || !wantsSitemaps(state)) return [];
    const effects = this.askRobots();
    this.openPending();
    for (const [file, entry] of Object.entries(state.openSitemaps)) {
      if (entry.waiting && !this.mayGoOn(entry)) continue;
      entry.waiting = false;
      const part = entry.taken === undefined ? file : `${file}.${entry.next}.${entry.taken}`;
      effects.push(...this.kick(file, () => this.sitemapKick(Number(file), entry), part));
    }
    return effects;
  }

  private askRobots(): Effect[] {
    const { robotsKnown, robotsTaken = 0, pendingSitemaps } = this.state;
    if (robotsKnown) return [];
    if (robotsTaken === 0) return this.kick('robots', () => this.robotsKick());
    if (!isNearlyRead(1, pendingSitemaps)) return [];
    return this.kick('robots', () => this.robotsKick(), `robots.${robotsTaken}`);
  }

  private mayGoOn({ level, taken }: OpenSitemap): boolean {
    const { state } = this;
    return hasRoom(state) && (taken === undefined || isNearlyRead(level + 1, state.pendingSitemaps));
  }

  /** Pages of histories whose patterns a fetcher matches. One that does not answer in time is forgotten: the part is read again. */
  judge(history: HistoryFound | null): Effect[] {
    const { state, memory, now } = this;
    const asked = memory.kicks.get(HISTORY_KICK);
    if (asked !== undefined && asked.at <= now) memory.kicks.delete(HISTORY_KICK);
    if (history === null || state.paused) return [];
    return this.kick(HISTORY_KICK, () => this.historyKick(history));
  }

  private historyKick({ part, urls }: HistoryFound): Kick {
    const { job, pauseV } = this.state;
    return { type: 'Kick', task: 'history', actor: this.key, job, part, urls, scope: scopeOf(this.state)!, pauseV };
  }

  onRobots(done: RobotsDone): void {
    const { state } = this;
    if (state.robotsKnown || !wantsSitemaps(state)) return;
    const { robotsTaken = 0 } = state;
    const tries = this.memory.kicks.get('robots')?.tries ?? 0;
    if (robotsTaken > 0 && done.ok === false && tries < ROBOTS_TRIES) return;
    this.memory.kicks.delete('robots');
    const named = done.sitemaps.filter((url) => url.length <= MAX_URL_CHARS).slice(robotsTaken);
    const fitting = howManyFit(named, 1, state.pendingSitemaps);
    for (const url of named.slice(0, fitting)) state.pendingSitemaps.push({ url, level: 1 });
    state.robotsTaken = robotsTaken + fitting;
    state.robotsKnown = fitting === named.length;
    if (state.robotsTaken === 0) this.open(new URL('/sitemap.xml', state.scope!.base).href, 1, true);
  }

  /** True when the chunk is the next one of a file that is being read (natural key: file and chunk). */
  expects(chunk: SitemapChunk): boolean {
    return this.state.openSitemaps[chunk.file]?.next === chunk.chunk;
  }

  onChunk(chunk: SitemapChunk): Effect[] {
    const entry = this.state.openSitemaps[chunk.file]!;
    entry.next += 1;
    if (entry.taken !== undefined) entry.taken = 0;
    if (chunk.last || chunk.error !== null) {
      delete this.state.openSitemaps[chunk.file];
      this.memory.kicks.delete(String(chunk.file));
    } else if (chunk.more) {
      entry.waiting = true;
      this.memory.kicks.delete(String(chunk.file));
    } else {
      this.memory.kicks.set(String(chunk.file), { at: this.now + KICK_PATIENCE_MS, tries: 1 });
    }
    return chunk.error === null || entry.guessed ? [] : [this.errorRow(chunk, entry)];
  }

  /** Ends all sitemaps: none of their URLs would be admitted. */
  private giveUp(): void {
    this.state.openSitemaps = {};
    this.state.pendingSitemaps = [];
    this.memory.kicks.clear();
  }

  private errorRow(chunk: SitemapChunk, entry: OpenSitemap): Effect {
    const { jobNo } = this.state;
    // Files are numbered apart from items: ids far above any item.
    const id = scrapeIdOf(jobNo, 2 ** 52 + chunk.file);
    return {
      t: 'row',
      row: { op: 'error.insert', jobNo, id, url: entry.url, code: chunk.error!.code, message: chunk.error!.message },
    };
  }

  open(url: string, level: number, guessed: boolean): void {
    this.state.sitemapsSeen += 1;
    this.state.openSitemaps[this.state.nextFile++] = { url, level, next: 0, guessed, waiting: false };
  }

  private openPending(): void {
    const { state } = this;
    const open = new Map<number, number>();
    for (const { level } of Object.values(state.openSitemaps)) open.set(level, (open.get(level) ?? 0) + 1);
    state.pendingSitemaps = state.pendingSitemaps.filter(({ url, level }) => {
      const count = open.get(level) ?? 0;
      if (count >= SITEMAPS_AT_ONCE) return true;
      open.set(level, count + 1);
      this.open(url, level, false);
      return false;
    });
  }

  /** @param part names the work when it differs from `id`: messages of the same name are taken for one. */
  private kick(id: string, make: () => Kick, part = id): Effect[] {
    const due = this.memory.kicks.get(id);
    if (due !== undefined && due.at > this.now) return [];
    const tries = (due?.tries ?? 0) + 1;
    this.memory.kicks.set(id, {
      at: this.now + Math.min(KICK_PATIENCE_MAX_MS, KICK_PATIENCE_MS * 2 ** (tries - 1)),
      tries,
    });
    return [{ t: 'work', cls: 'kick', prio: 'hi', id: `${this.state.job}.${part}.${tries}`, msg: make() }];
  }

  private robotsKick(): Kick {
    const { base } = this.state.scope!;
    return {
      type: 'Kick',
      task: 'robots',
      actor: this.key,
      host: hostKey(base),
      url: new URL('/robots.txt', base).href,
      agent: this.agent,
      pauseV: this.state.pauseV,
    };
  }

  private sitemapKick(file: number, entry: OpenSitemap): Kick {
    const { state } = this;
    return {
      type: 'Kick',
      task: 'sitemap',
      actor: this.key,
      job: state.job,
      file,
      url: entry.url,
      level: entry.level,
      fromChunk: entry.next,
      maxChunks: entry.taken === undefined ? CHUNKS_AT_ONCE : 1,
      scope: scopeOf(state)!,
      headers: (state.spec as CrawlSpec).scrape.headers,
      agent: this.agent,
      pauseV: state.pauseV,
    };
  }
}
