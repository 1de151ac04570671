/**
 * The durable side of a simulation: the tables that turns touch, one transaction at a time, with the invariants of rows
 * checked at every commit.
 */
import {
  actorKey,
  type ActorKey,
  type Candidate,
  type Envelope,
  type HostRecord,
  type FrontierRow,
  type HistoryRange,
  type JobKind,
  type JobMemory,
  type JobNo,
  type LaneRow,
  type RowOp,
  type Sender,
  type TrackedPage,
} from '@troupe/contracts';
import type { Clock } from '../clock.js';
import {
  FencedError,
  type ActorRow,
  type ActorStore,
  type DeadLetter,
  type OutboxRow,
  type TimerRow,
  type TurnAnswers,
  type TurnHead,
  type TurnWrites,
} from '../ports.js';
import { HEARTBEAT_MS } from '../turn.js';
import { InvariantError, NO_FAULTS, type FaultPoints } from './faults.js';

/** An owner that was followed within this time without a release has been lost. */
const LOST_OWNER_MS = 10 * 60_000;

const JOB_KINDS: readonly JobKind[] = ['crawl', 'batch', 'extract', 'agent'];

interface StoredActor {
  part: number;
  epoch: number;
  rev: number;
  state: string | null;
  terminal: boolean;
  updatedAt: number;
}

export type PageRow = Extract<RowOp, { op: 'page.insert' }>;
export type OutcomeRow = Extract<RowOp, { op: 'outcome.insert' }>;
export type JobRow = Extract<RowOp, { op: 'job.update' }>;
export type ErrorRow = Extract<RowOp, { op: 'error.insert' }>;
export type ExcludedRow = Extract<RowOp, { op: 'excluded.insert' }>;
export type DeliveryRow = Extract<RowOp, { op: 'delivery.attempt' }>;

export class SimJobTables {
  readonly seen = new Map<string, number>();
  readonly frontier = new Map<number, FrontierRow>();
  readonly lanes = new Map<number, LaneRow>();
  readonly pages: PageRow[] = [];
  readonly outcomes = new Map<number, OutcomeRow>();
  readonly errors: ErrorRow[] = [];
  /** By URL. */
  readonly excluded = new Map<string, ExcludedRow>();
  readonly deliveries: DeliveryRow[] = [];
  /** Numbers of the events that tell its ends. */
  readonly ends: number[] = [];
  /** Written by the gateway; as many as it has recorded. */
  readonly seeds: string[] = [];
  /** Ids of recorded commands that wait for their actor. */
  readonly commands = new Set<string>();
  row: JobRow | null = null;
  ledger = 0;
}

/** Rules that a mutant may break. */
export interface StoreRules {
  /** False: any owner writes; that it was fenced is told as I4 where the rows show it. */
  fence: boolean;
  keepRow(row: RowOp): RowOp | null;
  /** Whether rows that an earlier turn has left unpublished are found. */
  findOutbox(part: number): boolean;
  keepTimer(key: ActorKey, name: string): boolean;
  keepOutbox(row: OutboxRow): boolean;
  /** Called before the transaction; a mutant acknowledges here. */
  beforeTransaction(part: number): void;
}

export const STORE_RULES: StoreRules = {
  fence: true,
  keepRow: (row) => row,
  findOutbox: () => true,
  keepTimer: () => true,
  keepOutbox: () => true,
  beforeTransaction: () => {},
};

/** A command as a gateway records it. */
const NEW_JOB: Omit<JobRow, 'jobNo'> = {
  op: 'job.update',
  status: 'scraping',
  total: 0,
  completed: 0,
  credits: 0,
  error: null,
  warning: null,
  seeds: 0,
  excluded: {},
  finished: false,
};

export class SimStore implements ActorStore {
  readonly jobs = new Map<JobNo, SimJobTables>();
  readonly actors = new Map<ActorKey, StoredActor>();
  readonly timers = new Map<string, { key: ActorKey; name: string; part: number; at: number }>();
  readonly outbox = new Map<number, Map<number, OutboxRow>>();
  /** Every work row that was ever committed, as `o.<part>.<id>`. */
  readonly owedWork = new Set<string>();
  private readonly cursors = new Map<string, number>();
  /** When items that were marked may be tried again. */
  private readonly waits = new Map<string, number>();
  private readonly epochs = new Map<number, number>();
  private readonly owners = new Map<number, { takenAt: number; released: boolean; lost: number }>();
  private readonly marks = new Map<number, Map<ActorKey, number>>();
  readonly deadLetters: DeadLetter[] = [];
  readonly hosts = new Map<string, HostRecord>();
  /** Number of the job of an actor. */
  jobNoOf: (key: ActorKey) => JobNo | undefined = () => undefined;
  /** Records of actors that could not be told anything. */
  readonly endedActors: { key: ActorKey; type: string; error: string }[] = [];
  private readonly createdAt = new Map<OutboxRow, number>();
  /** Credits of sync scrapes by id. */
  readonly scrapes = new Map<string, number>();
  /** Pages that earlier scrapes have tracked; one team, one site and one tag. */
  readonly tracked: TrackedPage[] = [];
  faults: FaultPoints = NO_FAULTS;
  /** Sees every turn that is committed; for traces. */
  onCommit: (head: TurnHead, writes: TurnWrites) => void = () => {};
  commits = 0;

  constructor(
    private readonly clock: Clock,
    private readonly rules: StoreRules = STORE_RULES,
  ) {}

  job(jobNo: JobNo): SimJobTables {
    let tables = this.jobs.get(jobNo);
    if (tables === undefined) this.jobs.set(jobNo, (tables = new SimJobTables()));
    return tables;
  }

  mintEpoch(part: number): Promise<number> {
    const epoch = (this.epochs.get(part) ?? 0) + 1;
    this.epochs.set(part, epoch);
    const last = this.owners.get(part);
    const takenAt = this.clock.now();
    const isLost = last !== undefined && !last.released && takenAt - last.takenAt < LOST_OWNER_MS;
    this.owners.set(part, { takenAt, released: false, lost: isLost ? last.lost + 1 : 0 });
    return Promise.resolve(epoch);
  }

  releasePartition(part: number, epoch: number): Promise<void> {
    if (this.epochs.get(part) === epoch) {
      this.owners.get(part)!.released = true;
      this.marks.delete(part);
    }
    return Promise.resolve();
  }

  lostOwners(part: number): Promise<number> {
    return Promise.resolve(this.owners.get(part)?.lost ?? 0);
  }

  loadMarks(part: number): Promise<Map<ActorKey, number>> {
    return Promise.resolve(new Map(this.marks.get(part)));
  }

  async mark(part: number, key: ActorKey, n: number | null): Promise<void> {
    this.faults.beforeRead(part);
    const marks = this.marks.get(part) ?? new Map<ActorKey, number>();
    if (n === null) marks.delete(key);
    else marks.set(key, n);
    this.marks.set(part, marks);
    return Promise.resolve();
  }

  async endActor(_part: number, epoch: number, ended: { key: ActorKey; type: string; error: string }): Promise<void> {
    this.faults.beforeGrave(ended.key);
    const row = this.actors.get(ended.key);
    if (row === undefined || row.epoch !== epoch) throw new FencedError(`${ended.key} is not of epoch ${epoch}`);
    row.state = null;
    row.terminal = true;
    row.rev += 1;
    for (const [id, timer] of this.timers) if (timer.key === ended.key) this.timers.delete(id);
    this.endedActors.push(ended);
    const jobNo = this.jobNoOf(ended.key);
    if (jobNo === undefined) return;
    this.job(jobNo).commands.clear();
    this.failJob(jobNo, ended.error);
  }

  private failJob(jobNo: JobNo, error: string): void {
    const row = this.job(jobNo).row ?? { ...NEW_JOB, jobNo };
    if (!row.finished) this.job(jobNo).row = { ...row, status: 'failed', error, finished: true };
  }

  private failById({ job, error }: Extract<RowOp, { op: 'job.fail' }>): void {
    const numbers = JOB_KINDS.map((kind) => this.jobNoOf(actorKey(kind, job)));
    for (const jobNo of numbers) if (jobNo !== undefined) this.failJob(jobNo, error);
  }

  /** Whether somebody has told it what it has not taken in. */
  isOwed(to: ActorKey): boolean {
    for (const rows of this.outbox.values())
      for (const row of rows.values())
        if (row.to === to && row.n! > (this.cursors.get(`${to} ${row.from}`) ?? 0)) return true;
    return false;
  }

  probe(): Promise<void> {
    return Promise.resolve();
  }

  async activate(part: number, epoch: number, keys: ActorKey[]): Promise<ActorRow[]> {
    this.faults.beforeRead(part);
    return keys.map((key) => {
      const found = this.actors.get(key) ?? {
        part,
        epoch,
        rev: 0,
        state: null,
        terminal: false,
        updatedAt: this.clock.now(),
      };
      if (this.rules.fence && found.epoch > epoch) throw new FencedError(`${key} belongs to epoch ${found.epoch}`);
      found.epoch = Math.max(found.epoch, epoch);
      this.actors.set(key, found);
      return {
        key,
        rev: found.rev,
        state: found.state === null ? null : (JSON.parse(found.state) as unknown),
        terminal: found.terminal,
        ageMs: this.clock.now() - found.updatedAt,
      };
    });
  }

  loadCursors(keys: ActorKey[]): Promise<{ to: ActorKey; from: Sender; n: number }[]> {
    const wanted = new Set<string>(keys);
    const rows = [...this.cursors].map(([id, n]) => ({
      to: id.split(' ')[0]! as ActorKey,
      from: id.split(' ')[1]! as Sender,
      n,
    }));
    return Promise.resolve(rows.filter((row) => wanted.has(row.to)));
  }

  async loadJobMemory(
    jobNo: JobNo,
    readyLimit: number,
    history?: HistoryRange,
    countUpTo?: number,
  ): Promise<JobMemory> {
    this.faults.beforeRead(null);
    const tables = this.job(jobNo);
    const rows = [...tables.frontier.values()].map((row) => ({
      ...row,
      waitMs: Math.max(0, (this.waits.get(`${jobNo} ${row.item}`) ?? 0) - this.clock.now()) || null,
    }));
    const lanes = [...tables.lanes.values()].map((lane) => structuredCloneRow(lane));
    const inLanes = new Set(lanes.flatMap(({ items }) => items.map(({ item }) => item)));
    const isRunning = (row: FrontierRow): boolean => row.st === 1 && inLanes.has(row.item);
    const others = rows.filter((row) => !isRunning(row)).sort((a, b) => a.depth - b.depth || a.item - b.item);
    const isCut = countUpTo !== undefined && others.length >= readyLimit;
    return {
      lanes,
      running: rows.filter(isRunning),
      ready: others.slice(0, readyLimit),
      ...(isCut ? { open: Math.min(rows.length, countUpTo) } : {}),
      ...(history === undefined ? {} : { history: this.trackedPages(history) }),
    };
  }

  private trackedPages({ after, limit }: HistoryRange): TrackedPage[] {
    return this.tracked
      .filter(({ urlH }) => after === null || urlH > after)
      .sort((a, b) => (a.urlH < b.urlH ? -1 : 1))
      .slice(0, limit);
  }

  async commitTurn(head: TurnHead, decide: (answers: TurnAnswers) => TurnWrites): Promise<void> {
    this.rules.beforeTransaction(head.part);
    this.faults.beforeCommit(head.part);
    this.checkFences(head);
    const answers = this.answer(head);
    const writes = decide(answers);
    this.faults.beforeWrite(head, writes);
    this.apply(head, answers, writes);
    this.commits += 1;
    this.onCommit(head, writes);
    this.faults.afterCommit(head.part);
    await Promise.resolve();
  }

  async loadTimers(part: number, horizonMs: number): Promise<TimerRow[]> {
    this.faults.beforeRead(part);
    const now = this.clock.now();
    const rows = [...this.timers.values()].filter((timer) => timer.part === part && timer.at <= now + horizonMs);
    return Promise.resolve(
      rows.map(({ key, name, at }) => ({ key, name, dueInMs: at - now })).sort((a, b) => a.dueInMs - b.dueInMs),
    );
  }

  async loadOutbox(part: number, minAgeMs: number, limit: number): Promise<OutboxRow[]> {
    this.faults.beforeRead(part);
    if (!this.rules.findOutbox(part)) return Promise.resolve([]);
    const rows = [...this.partOutbox(part).values()].filter(
      (row) => this.clock.now() - (this.createdAt.get(row) ?? 0) >= minAgeMs,
    );
    return Promise.resolve(rows.sort((a, b) => a.id - b.id).slice(0, limit));
  }

  async loadOpenPairs(part: number, minAgeMs: number, after: number, limit: number): Promise<OutboxRow[]> {
    const rows = await this.loadOutbox(part, minAgeMs, Infinity);
    return rows.filter((row) => row.to !== null && row.id > after).slice(0, limit);
  }

  loadPairs(to: ActorKey, from: Sender, after: number): Promise<Envelope[]> {
    const found: Envelope[] = [];
    for (const rows of this.outbox.values()) {
      for (const row of rows.values()) {
        if (row.payload.kind === 'actor' && row.to === to && row.from === from && row.n! > after)
          found.push(row.payload.envelope);
      }
    }
    return Promise.resolve(found.sort((a, b) => a.n! - b.n!));
  }

  async deleteOutbox(part: number, ids: number[]): Promise<void> {
    this.faults.beforeRead(part);
    for (const id of ids) this.partOutbox(part).delete(id);
    return Promise.resolve();
  }

  async sweepPairs(part: number): Promise<void> {
    this.faults.beforeRead(part);
    const rows = this.partOutbox(part);
    for (const [id, row] of rows) {
      if (row.to !== null && row.n! <= (this.cursors.get(`${row.to} ${row.from}`) ?? 0)) rows.delete(id);
    }
    return Promise.resolve();
  }

  // ------------------------------------------------------------------------------------------ transaction

  private partOutbox(part: number): Map<number, OutboxRow> {
    let rows = this.outbox.get(part);
    if (rows === undefined) this.outbox.set(part, (rows = new Map()));
    return rows;
  }

  private checkFences(head: TurnHead): void {
    for (const { key, rev } of head.fences) {
      const row = this.actors.get(key)!;
      const stale = row.rev !== rev || row.epoch !== head.epoch;
      if (!stale) continue;
      if (this.rules.fence) throw new FencedError(`${key} is at rev ${row.rev}, epoch ${row.epoch}`);
      throw new InvariantError(
        'I4',
        `${key}: commit on rev ${rev} epoch ${head.epoch} over rev ${row.rev} epoch ${row.epoch}`,
      );
    }
  }

  private answer(head: TurnHead): TurnAnswers {
    const admitted = new Map<JobNo, Set<number>>();
    const taken = new Set<string>();
    for (const candidate of head.candidates) {
      const id = `${candidate.jobNo} ${candidate.h}`;
      if (taken.has(id) || this.job(candidate.jobNo).seen.has(candidate.h)) continue;
      taken.add(id);
      const items = admitted.get(candidate.jobNo) ?? new Set<number>();
      admitted.set(candidate.jobNo, items.add(candidate.item));
    }
    const seeds: TurnAnswers['seeds'] = new Map();
    for (const { jobNo, fromOrd, toOrd } of head.seeds) {
      const urls = this.job(jobNo).seeds.slice(fromOrd, toOrd);
      if (urls.length > 0)
        seeds.set(
          jobNo,
          urls.map((url, i) => ({ ord: fromOrd + i, url })),
        );
    }
    return { admitted, seeds };
  }

  private apply(head: TurnHead, answers: TurnAnswers, writes: TurnWrites): void {
    for (const candidate of head.candidates) {
      if (answers.admitted.get(candidate.jobNo)?.has(candidate.item)) this.admit(candidate);
    }
    for (const [jobNo, seeds] of answers.seeds) {
      for (const { ord, url } of seeds) {
        this.job(jobNo).frontier.set(ord, {
          depth: 0,
          item: ord,
          host: new URL(url).host,
          url,
          h: null,
          parent: null,
          attempt: 0,
          tries: 0,
          st: 0,
          browser: false,
        });
      }
    }
    for (const { job, ...counters } of writes.mended ?? [])
      throw new InvariantError('I10', `counters of ${job} were wrong: ${JSON.stringify(counters)}`);
    this.deadLetters.push(...writes.deadLetters);
    for (const row of writes.rows) {
      const kept = this.rules.keepRow(row);
      if (kept !== null) this.applyRow(kept);
    }
    for (const row of writes.outbox) this.addOutbox(head.part, row);
    for (const { to, from, n } of writes.cursors)
      this.cursors.set(`${to} ${from}`, Math.max(n, this.cursors.get(`${to} ${from}`) ?? 0));
    for (const { key, name, inMs } of writes.timers) this.setTimer(head.part, key, name, inMs);
    for (const { key, rev, state, terminal } of writes.actors) {
      const row = this.actors.get(key)!;
      row.rev = rev + 1;
      row.state = state;
      row.terminal = terminal;
      row.updatedAt = this.clock.now();
      this.checkAlive(key, row);
    }
  }

  private admit(candidate: Candidate): void {
    const { jobNo, depth, item, host, url, h, parent } = candidate;
    const tables = this.job(jobNo);
    tables.seen.set(h, item);
    tables.frontier.set(item, { depth, item, host, url, h, parent, attempt: 0, tries: 0, st: 0, browser: false });
  }

  private addOutbox(part: number, row: OutboxRow): void {
    if (row.payload.kind === 'work') this.owedWork.add(`o.${part}.${row.id}`);
    if (!this.rules.keepOutbox(row)) return;
    const copy = JSON.parse(JSON.stringify(row)) as OutboxRow;
    this.createdAt.set(copy, this.clock.now());
    this.partOutbox(part).set(row.id, copy);
  }

  private setTimer(part: number, key: ActorKey, name: string, inMs: number | null): void {
    const id = `${key} ${name}`;
    if (inMs === null) this.timers.delete(id);
    else if (this.rules.keepTimer(key, name)) this.timers.set(id, { key, name, part, at: this.clock.now() + inMs });
  }

  /** I3: no living actor without a timer at most a heartbeat ahead. */
  private checkAlive(key: ActorKey, row: StoredActor): void {
    if (row.terminal) return;
    const limit = this.clock.now() + HEARTBEAT_MS;
    for (const timer of this.timers.values()) if (timer.key === key && timer.at <= limit) return;
    throw new InvariantError('I3', `${key} has no timer within ${HEARTBEAT_MS} ms`);
  }

  private applyRow(row: RowOp): void {
    switch (row.op) {
      case 'frontier.mark': {
        const found = this.job(row.jobNo).frontier.get(row.item);
        if (found === undefined) throw new InvariantError('I10', `item ${row.item} marked but not in the frontier`);
        found.st = row.st;
        found.attempt = row.attempt;
        found.browser = row.browser;
        found.tries = row.tries ?? 0;
        this.waits.set(`${row.jobNo} ${row.item}`, this.clock.now() + (row.waitMs ?? 0));
        return;
      }
      case 'frontier.delete':
        if (!this.job(row.jobNo).frontier.delete(row.item))
          throw new InvariantError('I10', `item ${row.item} ended twice`);
        return;
      case 'lane.insert': {
        const { op: _op, jobNo, ...lane } = row;
        this.job(jobNo).lanes.set(lane.lane, structuredCloneRow(lane));
        return;
      }
      case 'lane.started':
        this.job(row.jobNo).lanes.get(row.lane)!.run = row.run;
        return;
      case 'lane.delete':
        this.job(row.jobNo).lanes.delete(row.lane);
        return;
      case 'page.insert':
        return this.addPage(row);
      case 'outcome.insert':
        if (this.job(row.jobNo).outcomes.has(row.item))
          throw new InvariantError('I10', `item ${row.item} has two outcomes`);
        this.job(row.jobNo).outcomes.set(row.item, row);
        return;
      case 'error.insert':
        this.job(row.jobNo).errors.push(row);
        return;
      case 'job.update':
        return this.updateJob(row);
      case 'ledger.upsert':
        this.job(row.jobNo).ledger = row.credits;
        return;
      case 'command.delete':
        for (const tables of this.jobs.values()) tables.commands.delete(row.id);
        return;
      case 'excluded.insert':
        this.job(row.jobNo).excluded.set(row.url, row);
        return;
      case 'host.upsert': {
        const { op: _op, ...record } = row;
        this.hosts.set(row.host, record);
        return;
      }
      case 'delivery.attempt':
        this.job(row.jobNo).deliveries.push(row);
        return;
      case 'delivery.end':
        this.job(row.jobNo).ends.push(row.eventNo);
        return;
      case 'delivery.reopen':
        for (const attempt of this.job(row.jobNo).deliveries)
          if (attempt.eventNo === row.eventNo && attempt.attempt === row.attempt) attempt.final = false;
        return;
      case 'scrape.insert':
        this.scrapes.set(row.id, row.credits);
        return;
      case 'job.fail':
        return this.failById(row);
    }
  }

  /** I2: one result per item, ordinals without gaps. */
  private addPage(row: PageRow): void {
    const { pages } = this.job(row.jobNo);
    if (row.ord !== pages.length + 1) throw new InvariantError('I2', `page ${row.ord} after ${pages.length}`);
    if (pages.some((page) => page.item === row.item)) throw new InvariantError('I2', `item ${row.item} stored twice`);
    pages.push(row);
  }

  /** I3: terminal exactly once. */
  private updateJob(row: JobRow): void {
    const tables = this.job(row.jobNo);
    if (tables.row?.finished) throw new InvariantError('I3', `job ${row.jobNo} changed after it had ended`);
    const unknown = Math.max(0, row.seeds === 0 ? 0 : tables.seeds.length - row.seeds);
    const isOver = !(row.status === 'completed' && unknown > 0);
    tables.row = {
      ...row,
      status: isOver ? row.status : 'scraping',
      finished: row.finished && isOver,
      total: row.total + unknown,
    };
  }
}

function structuredCloneRow(lane: LaneRow): LaneRow {
  return JSON.parse(JSON.stringify(lane)) as LaneRow;
}
