/** Jobs of a world as their gateway has recorded them, and what it says of them until it is heard. */
import type { JobRow } from '@troupe/actors';
import {
  actorKey,
  plainScrape,
  type ActorKey,
  type ActorMessage,
  type CrawlSpec,
  type PauseNews,
  type Start,
  type Uuid,
  type WebhookSpec,
} from '@troupe/contracts';
import { REQUEST_MS, type Fetchers } from './fetchers.js';
import { scopeOf } from './site.js';
import type { Stage } from './stage.js';

export interface SimJob {
  kind: 'crawl' | 'batch';
  /** URLs of a batch, repeats included. */
  seeds: string[];
  id: Uuid;
  jobNo: string;
  key: ActorKey;
  team: Uuid;
  /** Of the crawled site. */
  base: string;
  /** It follows links to other sites. */
  isWide: boolean;
  ignoresRobots: boolean;
  limit: number;
  /** It tracks changes: what earlier crawls have tracked belongs to it. */
  tracks: boolean;
  startAt: number;
  cancelAt: number | null;
  /** When it is paused and resumed in turn, soonest first. */
  pausesAt: number[];
  pause: PauseNews;
  /** When a batch gets more seeds, and which. */
  appends: { at: number; urls: string[] }[];
  /** Commands that wait for their receipt. */
  commands: Map<string, { body: ActorMessage; sendAt: number }>;
  webhook: WebhookSpec | null;
  /** The job for which it fetches pages. */
  parent?: ActorKey;
}

const SEND_AGAIN_MS = 10_000;

export class Jobs {
  readonly all: SimJob[] = [];
  private commands = 0;

  constructor(
    private readonly stage: Stage,
    private readonly fetchers: () => Fetchers,
  ) {}

  /** Some that clients have sent. */
  addSome(): void {
    const { random, web, teams, store } = this.stage;
    if (teams.size > 1 && random.chance(0.15)) return this.addRivals();
    const count = random.int(1, teams.size + 1);
    for (let i = 0; i < count; i++) {
      const kind = random.chance(0.2) ? 'batch' : 'crawl';
      const site = random.pick(web.sites);
      const job = this.make(`00000000-0000-4000-8000-0000000000${10 + i}`, String(100 + i), kind);
      Object.assign(job, {
        team: random.pick([...teams.keys()]),
        base: site.base,
        isWide: random.chance(0.4),
        ignoresRobots: random.chance(0.1),
        limit: random.chance(0.3) ? random.int(1, site.pages.size) : 1_000,
        cancelAt: random.chance(0.15) ? random.int(0, 20_000) : null,
        startAt: random.int(0, 5_000),
      });
      if (kind === 'batch') {
        job.seeds = this.someUrls();
        job.limit = job.seeds.length;
        job.appends = this.someAppends();
        store.job(job.jobNo).seeds.push(...job.seeds);
      } else {
        job.tracks = site === web.sites[0] && random.chance(0.5);
        job.pausesAt = random.chance(0.3) ? this.somePauses() : [];
      }
      this.all.push(job);
    }
  }

  /** A long batch of each team, all on one host: they have to share it. */
  private addRivals(): void {
    const { random, web, teams, store } = this.stage;
    const urls = [...web.sites[0]!.pages.keys()];
    [...teams.keys()].slice(0, 2).forEach((team, i) => {
      const job = this.make(`00000000-0000-4000-8000-0000000000${10 + i}`, String(100 + i), 'batch');
      const seeds = Array.from({ length: 120 }, () => random.pick(urls));
      Object.assign(job, { team, seeds, limit: seeds.length, startAt: random.int(0, 1_000) });
      store.job(job.jobNo).seeds.push(...seeds);
      this.all.push(job);
    });
  }

  /** A job of the first team that starts now. */
  make(id: Uuid, jobNo: string, kind: SimJob['kind']): SimJob {
    const [team] = this.stage.teams.keys();
    return {
      kind,
      seeds: [],
      id,
      jobNo,
      key: actorKey(kind, id),
      team: team!,
      base: this.stage.web.sites[0]!.base,
      isWide: false,
      ignoresRobots: false,
      limit: 1_000,
      tracks: false,
      startAt: this.stage.elapsed,
      cancelAt: null,
      pausesAt: [],
      pause: { v: 0, paused: false },
      appends: [],
      commands: new Map(),
      webhook: null,
    };
  }

  someUrls(): string[] {
    const { random, web } = this.stage;
    return Array.from({ length: random.int(1, 20) }, () => random.pick(web.urls));
  }

  private someAppends(): SimJob['appends'] {
    const { random } = this.stage;
    const count = random.chance(0.7) ? random.int(1, 3) : 0;
    return Array.from({ length: count }, () => ({ at: random.int(0, 60_000), urls: this.someUrls() }));
  }

  /** Of even number: whoever pauses, resumes. */
  private somePauses(): number[] {
    const { random } = this.stage;
    const times = Array.from({ length: 2 * random.int(1, 2) }, () => random.int(0, 90_000));
    return times.sort((a, b) => a - b);
  }

  rowOf({ jobNo }: SimJob): JobRow | null {
    return this.stage.store.job(jobNo).row;
  }

  isCancelled(id: Uuid): boolean {
    const job = this.all.find((one) => one.id === id)!;
    return this.rowOf(job)?.status === 'cancelled';
  }

  /** Its actor rests, and nothing is to be said to it. */
  isOver(job: SimJob): boolean {
    const isAsked = job.commands.size > 0 || job.appends.length > 0 || job.pausesAt.length > 0;
    return this.stage.store.actors.get(job.key)?.terminal === true && (!isAsked || this.hasFailed(job));
  }

  hasFailed(job: SimJob): boolean {
    const status = this.rowOf(job)?.status;
    return status === 'cancelled' || status === 'failed';
  }

  // ------------------------------------------------------------------------------------------------ gateway

  tend(): void {
    for (const job of this.all) this.tendJob(job);
  }

  private tendJob(job: SimJob): void {
    const row = this.rowOf(job);
    const now = this.stage.elapsed;
    if (row === null && now >= job.startAt) {
      job.startAt = now + SEND_AGAIN_MS;
      this.stage.send(job.key, this.startOf(job));
    }
    if (job.cancelAt !== null && now >= job.cancelAt && row !== null && !row.finished) {
      job.cancelAt = now + 2_000;
      this.stage.send(job.key, { type: 'Cancel', job: job.id });
    }
    if (row !== null) this.change(job, row);
    this.sendCommands(job);
  }

  /** What a gateway records of an append or a pause, in one transaction; its command is sent until it is acknowledged. */
  private change(job: SimJob, row: JobRow): void {
    const { store, elapsed } = this.stage;
    const append = job.appends[0];
    if (append !== undefined && elapsed >= append.at) {
      job.appends.shift();
      if (this.hasFailed(job)) return;
      const { seeds } = store.job(job.jobNo);
      seeds.push(...append.urls);
      job.seeds.push(...append.urls);
      job.limit = seeds.length;
      const total = row.total + append.urls.length;
      store.job(job.jobNo).row = { ...row, status: 'scraping', finished: false, total };
      this.record(job, (cmd) => ({ type: 'Append', job: job.id, cmd, toOrd: seeds.length }));
    }
    if (row.finished) job.pausesAt = [];
    if (job.pausesAt.length === 0 || elapsed < job.pausesAt[0]!) return;
    job.pausesAt.shift();
    job.pause = { v: job.pause.v + 1, paused: !job.pause.paused };
    if (!this.stage.faults.happens('lost pause note', 0.1)) this.fetchers().pauses.set(job.id, job.pause);
    this.record(job, (cmd) => ({ type: 'Pause', job: job.id, cmd, ...job.pause }));
  }

  private record(job: SimJob, make: (cmd: string) => ActorMessage): void {
    const cmd = `cmd-${++this.commands}`;
    job.commands.set(cmd, { body: make(cmd), sendAt: 0 });
    this.stage.store.job(job.jobNo).commands.add(cmd);
  }

  private sendCommands(job: SimJob): void {
    const open = this.stage.store.job(job.jobNo).commands;
    for (const [cmd, command] of job.commands) {
      if (!open.has(cmd)) job.commands.delete(cmd);
      else if (this.stage.elapsed >= command.sendAt) {
        command.sendAt = this.stage.elapsed + SEND_AGAIN_MS;
        this.stage.send(job.key, command.body);
      }
    }
  }

  private startOf(job: SimJob): Start {
    const { id, jobNo, kind, seeds, parent, team } = job;
    const child = parent === undefined ? {} : { parent };
    const createdMs = this.stage.time.wall();
    const head = { type: 'Start' as const, job: id, jobNo, team, keyId: null, createdMs };
    const spec = this.specOf(job);
    if (kind === 'crawl') return { ...head, kind, spec: { ...spec, ...child } };
    const batch = { maxConcurrency: null, scrape: spec.scrape, webhook: job.webhook, ...child };
    return { ...head, kind, spec: batch, total: seeds.length };
  }

  private specOf({ base, isWide, limit, ignoresRobots, tracks, webhook }: SimJob): CrawlSpec {
    const scrape = plainScrape({ formats: [{ type: 'markdown' }], timeoutMs: REQUEST_MS, onlyMainContent: true });
    const changeTracking = { tag: null, diff: false, diffShape: 'string', json: null } as const;
    return {
      url: base,
      scope: scopeOf(base, isWide),
      limit,
      delayMs: 0,
      maxConcurrency: null,
      ignoreRobots: ignoresRobots,
      robotsAgent: null,
      scrape: tracks ? { ...scrape, changeTracking } : scrape,
      webhook,
    };
  }
}
