/** Robots and sitemaps of a crawl: what is open, what is asked for again, what they bring (design/frontier.md §5). */
import { scrapeIdOf, type ActorKey, type Kick, type RobotsDone, type SitemapChunk } from '@troupe/contracts';
import type { CrawlSpec } from '@troupe/contracts';
import type { Effect } from '@troupe/actors';
import { hostKey } from '@troupe/frontier';
import { spareRoom } from './admission.js';
import type { JobMemory, JobState, OpenSitemap } from './job.state.js';

const KICK_PATIENCE_MS = 60_000;
const KICK_PATIENCE_MAX_MS = 900_000;
const CHUNKS_AT_ONCE = 20;
const SITEMAPS_AT_ONCE = 4;
/** A waiting file is read on when there is room for so many candidates, or for half of what there can ever be. */
const ROOM_TO_GO_ON = 2_000;

function hasRoom(state: JobState): boolean {
  return spareRoom(state) >= Math.min(ROOM_TO_GO_ON, (spareRoom(state) + state.ready) / 2);
}

export function wantsSitemaps(state: JobState): boolean {
  return state.scope !== null && state.scope.sitemap !== 'skip' && state.full !== true;
}

/** No more URLs can come from sitemaps. */
export function isKickoffDone(state: JobState): boolean {
  return (
    !wantsSitemaps(state) ||
    (state.robotsKnown && state.pendingSitemaps.length === 0 && Object.keys(state.openSitemaps).length === 0)
  );
}

export class Kickoff {
  constructor(
    private readonly key: ActorKey,
    private readonly state: JobState,
    private readonly memory: JobMemory,
    private readonly now: number,
    private readonly agent: string,
  ) {}

  /** Asks for whatever is open and unanswered; repeats with growing patience (a cluster without fetchers waits). */
  ask(): Effect[] {
    const { state } = this;
    if (state.full === true) this.giveUp();
    if (state.phase !== 'running' || state.paused || !wantsSitemaps(state)) return [];
    const effects = state.robotsKnown ? [] : this.kick('robots', () => this.robotsKick());
    this.openPending();
    for (const [file, entry] of Object.entries(state.openSitemaps)) {
      if (entry.waiting && !hasRoom(state)) continue;
      entry.waiting = false;
      effects.push(...this.kick(file, () => this.sitemapKick(Number(file), entry)));
    }
    return effects;
  }

  onRobots(done: RobotsDone): void {
    const { state } = this;
    if (state.robotsKnown || !wantsSitemaps(state)) return;
    state.robotsKnown = true;
    this.memory.kicks.delete('robots');
    const urls = done.sitemaps.length > 0 ? done.sitemaps : [new URL('/sitemap.xml', state.scope!.base).href];
    for (const url of urls) this.open(url, 1, done.sitemaps.length === 0);
  }

  /** True when the chunk is the next one of a file that is being read (natural key: file and chunk). */
  expects(chunk: SitemapChunk): boolean {
    return this.state.openSitemaps[chunk.file]?.next === chunk.chunk;
  }

  /** The chunk could not be taken in: it is asked for again when there is room. */
  defer(chunk: SitemapChunk): void {
    this.state.openSitemaps[chunk.file]!.waiting = true;
    this.memory.kicks.delete(String(chunk.file));
  }

  onChunk(chunk: SitemapChunk): Effect[] {
    const entry = this.state.openSitemaps[chunk.file]!;
    entry.next += 1;
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

  /** Nothing that they name would be admitted. */
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
    while (state.pendingSitemaps.length > 0 && Object.keys(state.openSitemaps).length < SITEMAPS_AT_ONCE) {
      const { url, level } = state.pendingSitemaps.shift()!;
      this.open(url, level, false);
    }
  }

  private kick(id: string, make: () => Kick): Effect[] {
    const due = this.memory.kicks.get(id);
    if (due !== undefined && due.at > this.now) return [];
    const tries = (due?.tries ?? 0) + 1;
    this.memory.kicks.set(id, {
      at: this.now + Math.min(KICK_PATIENCE_MAX_MS, KICK_PATIENCE_MS * 2 ** (tries - 1)),
      tries,
    });
    return [{ t: 'work', cls: 'kick', prio: 'hi', id: `${this.state.job}.${id}.${tries}`, msg: make() }];
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
      maxChunks: CHUNKS_AT_ONCE,
      scope: state.scope!,
      headers: (state.spec as CrawlSpec).scrape.headers,
      agent: this.agent,
      pauseV: state.pauseV,
    };
  }
}
