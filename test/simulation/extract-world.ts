/**
 * Extract jobs with real children in the world of crawls: extractors that die, are slow, fail and answer twice, on top of
 * all that may happen to schedulers, fetchers and messages there.
 */
import { InvariantError, type ActorDef, type OutboxRow, type StoreRules, type WorkItem } from '@troupe/actors';
import {
  actorKey,
  childJobOf,
  numbersOf,
  parsePageStep,
  partitionOf,
  PLAN_STEP,
  tokenCredits,
  type ActorKey,
  type ChildJob,
  type ErrorWire,
  type ModelDone,
  type ModelTask,
} from '@troupe/contracts';
import { EXTRACT_SPEC } from '../../apps/scheduler/src/extract/extract-spec.fixture.js';
import { extractActor } from '../../apps/scheduler/src/extract/extract.actor.js';
import type { ExtractState } from '../../apps/scheduler/src/extract/extract.state.js';
import { CrawlWorld, TEAM, type Mutation, type SimJob } from './crawl-world.js';

/** One planted error, or none. */
export interface ExtractMutation extends Mutation {
  /** Changes the state before a turn is decided. */
  extract?(state: ExtractState, messages: { type: string }[]): void;
  /** Messages that the actor never sees. */
  hides?(state: ExtractState, message: { type: string }): boolean;
}

interface SimExtract {
  id: string;
  jobNo: string;
  key: ActorKey;
  startAt: number;
  cancelAt: number | null;
  timeoutMs: number;
}

interface RunningTask {
  task: ModelTask;
  work: WorkItem;
  until: number;
  speakAt: number;
}

/** `model_step` */
interface Recorded {
  outcome: NonNullable<ModelDone['outcome']>;
  tokens: number;
}

/** Of a child: more than are read at a time. */
const MAX_PAGES = 12;

const LATER: ErrorWire = { code: 'SCRAPE_JSON_FAILED', message: 'busy', retryable: true, httpStatus: 500 };
const NEVER: ErrorWire = { ...LATER, message: 'no facts', retryable: false };

export class ExtractWorld extends CrawlWorld {
  private readonly extracts: SimExtract[] = [];
  private readonly running: RunningTask[] = [];
  private readonly recorded = new Map<string, Recorded>();
  /** Calls of a model by step. */
  private readonly calls = new Map<string, number>();
  private readonly failures = new Map<string, number>();
  private readonly failedTokens = new Map<string, number>();
  private readonly errorChance: number;
  private readonly deathChance: number;

  constructor(
    seed: number,
    private readonly extractMutation: ExtractMutation = {},
    trace: ((line: string) => void) | null = null,
  ) {
    super(seed, extractMutation, trace);
    this.errorChance = this.random.pick([0, 0.1]);
    this.deathChance = this.gentle ? 0 : this.random.pick([0, 0.05]);
    this.extracts.push(this.makeExtract(0));
    if (this.random.chance(0.2)) this.extracts.push(this.makeExtract(1));
  }

  /** Pages are fetched for extractions only. */
  protected override addJobs(): void {}

  protected override moreDefs(): ActorDef<unknown, unknown>[] {
    const def = extractActor();
    const finish: typeof def.finish = (activation, batch, answers, ctx) => {
      const { extract, hides } = this.extractMutation;
      extract?.(
        activation.state,
        batch.map(({ body }) => body),
      );
      const seen = hides === undefined ? batch : batch.filter(({ body }) => !hides(activation.state, body));
      return def.finish(activation, seen, answers, ctx);
    };
    return [{ ...def, finish }];
  }

  protected override storeRules(): Partial<StoreRules> {
    const rules = super.storeRules();
    return {
      ...rules,
      keepOutbox: (row) => {
        this.checkTask(row);
        return rules.keepOutbox?.(row) ?? true;
      },
    };
  }

  protected override isOver(): boolean {
    return super.isOver() && this.extracts.every(({ key }) => this.store.actors.get(key)?.terminal === true);
  }

  protected override describe(): string {
    const rows = this.extracts.map(({ key }) => `${key} ${this.store.actors.get(key)?.state ?? ''}`);
    return [super.describe(), ...rows].join('; ');
  }

  protected override hasWork(): boolean {
    return super.hasWork() || this.running.length > 0;
  }

  protected override parts(): number[] {
    return [...new Set([...super.parts(), ...this.extracts.map(({ key }) => partitionOf(key))])];
  }

  protected override trouble(): Promise<void> {
    if (this.gentle || this.running.length === 0 || this.random.chance(0.7)) return super.trouble();
    this.kill(this.random.pick(this.running));
    return Promise.resolve();
  }

  protected override gateway(): void {
    super.gateway();
    for (const extract of this.extracts) {
      const { row } = this.store.job(extract.jobNo);
      if (row === null && this.elapsed() >= extract.startAt) {
        extract.startAt = this.elapsed() + 10_000;
        this.sendStart(extract);
      }
      if (extract.cancelAt === null || row === null || row.finished || this.elapsed() < extract.cancelAt) continue;
      extract.cancelAt = this.elapsed() + 2_000;
      this.send(extract.key, { type: 'Cancel', job: extract.id });
    }
  }

  protected override stepFetcher(): void {
    if (this.running.length > 0 && this.random.chance(0.5)) return this.stepExtractor(this.random.pick(this.running));
    super.stepFetcher();
  }

  protected override startWork(work: WorkItem): void {
    if (work.msg.type !== 'ModelTask') return super.startWork(work);
    const task = work.msg;
    if (this.recorded.has(nameOf(task))) return this.answer(task);
    this.busy(task);
    // Some start before the plan is known.
    if (task.step === PLAN_STEP) this.makeChildren(task);
    const until = this.clock.now() + this.random.int(5, this.random.chance(0.1) ? 150_000 : 2_000);
    this.running.push({ task, work, until, speakAt: this.clock.now() + 20_000 });
  }

  // ------------------------------------------------------------------------------------------------ extractors

  private stepExtractor(running: RunningTask): void {
    const { task, until } = running;
    if (this.clock.now() < until) {
      if (this.clock.now() >= running.speakAt) {
        running.speakAt = this.clock.now() + 20_000;
        this.busy(task);
      }
      return this.clock.advance(this.random.int(0, 100));
    }
    this.running.splice(this.running.indexOf(running), 1);
    if (!this.recorded.has(nameOf(task)) && !this.work(task)) return;
    // It may die between the record and the answer.
    if (this.faulty && this.random.chance(this.deathChance)) return void this.bus.work.push(running.work);
    this.answer(task);
  }

  private kill(running: RunningTask): void {
    this.running.splice(this.running.indexOf(running), 1);
    this.bus.work.push(running.work);
  }

  /** False: it failed, and the actor was told. */
  private work(task: ModelTask): boolean {
    const name = nameOf(task);
    this.calls.set(name, (this.calls.get(name) ?? 0) + 1);
    const tokens = this.random.int(1, 50);
    const error = this.errorOf(task);
    if (error !== null) {
      this.failures.set(name, (this.failures.get(name) ?? 0) + 1);
      this.failedTokens.set(task.jobNo, (this.failedTokens.get(task.jobNo) ?? 0) + tokens);
      this.send(task.actor, { ...this.doneOf(task), tokens, error, outcome: null });
      return false;
    }
    this.recorded.set(name, { outcome: this.outcomeOf(task), tokens });
    return true;
  }

  /** Pages of a number without facts fail for good; anything may fail for a while. */
  private errorOf({ step, work }: ModelTask): ErrorWire | null {
    if (this.errorChance === 0 || step === PLAN_STEP) return null;
    if (work.what === 'pages' && work.ords[0] % 7 === 0) return NEVER;
    return this.faulty && this.random.chance(this.errorChance) ? LATER : null;
  }

  private outcomeOf(task: ModelTask): Recorded['outcome'] {
    const { work } = task;
    if (work.what === 'plan') return { what: 'planned', children: this.makeChildren(task), warning: null };
    if (work.what === 'merge') return { what: 'merged', warning: null };
    if (work.what === 'pages') this.checkStored(work);
    return { what: 'read', warning: null };
  }

  private answer(task: ModelTask): void {
    const { outcome, tokens } = this.recorded.get(nameOf(task))!;
    this.send(task.actor, { ...this.doneOf(task), tokens, error: null, outcome });
  }

  private doneOf({ step, attempt }: ModelTask): Pick<ModelDone, 'type' | 'step' | 'attempt' | 'credits'> {
    return { type: 'ModelDone', step, attempt, credits: 0 };
  }

  private busy({ actor, step, attempt }: ModelTask): void {
    this.send(actor, { type: 'ModelBusy', step, attempt });
  }

  /** An attempt that dies leaves children behind; the next one finds them, or wants fewer. */
  private makeChildren({ job, actor }: ModelTask): ChildJob[] {
    const count = this.random.int(1, 3);
    return Array.from({ length: count }, (_, nth) => {
      const id = childJobOf(job, nth);
      const { jobNo, kind } = this.jobs.find((known) => known.id === id) ?? this.makeChild(id, actor);
      return { job: id, jobNo, kind };
    });
  }

  private makeChild(id: string, parent: ActorKey): SimJob {
    const kind = this.random.chance(0.6) ? 'batch' : 'crawl';
    const seeds = kind === 'batch' ? this.someUrls().slice(0, MAX_PAGES) : [];
    const jobNo = String(1_000 + this.jobs.length);
    this.store.job(jobNo).seeds.push(...seeds);
    const job: SimJob = {
      kind,
      seeds,
      id,
      jobNo,
      key: actorKey(kind, id),
      limit: kind === 'batch' ? seeds.length : this.random.int(1, MAX_PAGES),
      startAt: this.elapsed(),
      cancelAt: null,
      pausesAt: [],
      pause: { v: 0, paused: false },
      appends: [],
      commands: new Map(),
      parent,
    };
    this.jobs.push(job);
    return job;
  }

  // ------------------------------------------------------------------------------------------------ jobs

  private makeExtract(i: number): SimExtract {
    const id = `00000000-0000-4000-8000-0000000001${10 + i}`;
    return {
      id,
      jobNo: String(500 + i),
      key: actorKey('extract', id),
      startAt: this.random.int(0, 5_000),
      cancelAt: this.random.chance(0.15) ? this.random.int(0, 30_000) : null,
      timeoutMs: this.random.chance(0.1) ? this.random.int(5_000, 60_000) : 10 * 3_600_000,
    };
  }

  private sendStart({ id, jobNo, key, timeoutMs }: SimExtract): void {
    this.send(key, {
      type: 'Start',
      kind: 'extract',
      job: id,
      jobNo,
      team: TEAM,
      keyId: null,
      createdMs: this.clock.wall(),
      spec: { ...EXTRACT_SPEC, timeoutMs },
    });
  }

  // ------------------------------------------------------------------------------------------------ verdict

  /** I12: what is over is not handed out again, nor is anything for a job that has ended. */
  private checkTask({ payload, from }: OutboxRow): void {
    if (payload.kind !== 'work' || payload.msg.type !== 'ModelTask') return;
    const stored = this.store.actors.get(from)!.state;
    if (stored === null) return;
    const { s: before } = JSON.parse(stored) as { s: ExtractState };
    const { step } = payload.msg;
    const isOver = before.steps[step] === undefined && wasBegun(before, step);
    if (isOver || before.phase === 'closing' || before.phase === 'over')
      throw new InvariantError('I12', `${from}: ${step} was handed out although it was over`);
  }

  /** I2: what is to be read is stored. */
  private checkStored({ childNo, ords }: { childNo: string; ords: [number, number] }): void {
    const stored = this.store.job(childNo).pages.length;
    for (const ord of numbersOf([ords]))
      if (ord > stored) throw new InvariantError('I2', `page ${ord} of ${childNo} is to be read, ${stored} are stored`);
  }

  protected override checkAll(): void {
    super.checkAll();
    for (const extract of this.extracts) this.checkExtract(extract);
    if (!this.gentle) return;
    for (const [name, calls] of this.calls) {
      const needed = 1 + (this.failures.get(name) ?? 0);
      if (calls > needed) throw new InvariantError('I12', `${name} took ${calls} calls of a model, ${needed} needed`);
    }
  }

  private checkExtract({ key, jobNo }: SimExtract): void {
    const fail = (invariant: string, detail: string): never => {
      throw new InvariantError(invariant, `${key}: ${detail}`);
    };
    const { row, ledger } = this.store.job(jobNo);
    if (row === null || !row.finished || row.status === 'scraping') return fail('I3', `ended as ${row?.status}`);
    const tokens = row.tokens ?? 0;
    const steps = [...this.recorded].filter(([name]) => name.startsWith(`${jobNo} `));
    const told = steps.reduce((sum, [, step]) => sum + step.tokens, 0);
    if (tokens > told + (this.failedTokens.get(jobNo) ?? 0)) fail('I7', `${tokens} tokens, extractors used fewer`);
    if (row.credits !== tokenCredits(tokens) || ledger !== row.credits)
      fail('I7', `${row.credits} credits, billed ${ledger} for ${tokens} tokens`);
    if (row.status !== 'completed') return;
    if (tokens < told) fail('I7', `${tokens} tokens, finished steps used ${told}`);
    this.checkRead(row, steps, fail);
  }

  /** I13: of a completed job every page of every child in its plan was read, or is counted as given up. */
  private checkRead(
    row: { jobNo: string; total: number; completed: number },
    steps: [string, Recorded][],
    fail: (invariant: string, detail: string) => never,
  ): void {
    const plan = this.recorded.get(`${row.jobNo} ${PLAN_STEP}`)!.outcome;
    const children = plan.what === 'planned' ? plan.children : [];
    const pages = children.reduce((sum, child) => sum + this.store.job(child.jobNo).pages.length, 0);
    const read = steps.filter(([name]) => parsePageStep(name.split(' ')[1]!) !== null).length;
    if (row.total !== pages || row.completed !== pages) fail('I13', `${row.completed}/${row.total} of ${pages} pages`);
    if (this.errorChance === 0 && read !== pages) fail('I13', `${read} of ${pages} pages were read`);
  }
}

function wasBegun(state: ExtractState, step: string): boolean {
  const page = parsePageStep(step);
  if (page === null) return step === PLAN_STEP ? state.stage !== 'plan' : state.stage === 'merged';
  const child = Object.values(state.children).find(({ place }) => place === page.child);
  return child !== undefined && child.next > page.ord;
}

function nameOf({ jobNo, step }: ModelTask): string {
  return `${jobNo} ${step}`;
}
