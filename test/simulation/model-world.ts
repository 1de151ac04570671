/**
 * Extract jobs with real children, and agents, in the world of crawls: extractors that die, are slow, fail and answer twice,
 * on top of all that may happen to schedulers, fetchers and messages there.
 */
import type { ActorDef, TurnWrites, WorkItem } from '@troupe/actors';
import {
  actorKey,
  actStep,
  childJobOf,
  numbersOf,
  parsePageStep,
  PLAN_STEP,
  tokenCredits,
  type ActorKey,
  type AgentSpec,
  type ChildJob,
  type ErrorWire,
  type ModelDone,
  type ModelTask,
  type Start,
} from '@troupe/contracts';
import { agentActor, MAX_MOVES } from '../../apps/scheduler/src/model-job/agent/agent.actor.js';
import type { AgentState } from '../../apps/scheduler/src/model-job/agent/agent.state.js';
import { EXTRACT_SPEC } from '../../apps/scheduler/src/model-job/extract/extract-spec.fixture.js';
import { extractActor } from '../../apps/scheduler/src/model-job/extract/extract.actor.js';
import type { ExtractState } from '../../apps/scheduler/src/model-job/extract/extract.state.js';
import { CrawlWorld } from './crawl-world.js';
import type { SimJob } from './jobs.js';
import type { WorldOptions } from './stage.js';

interface ModelJob {
  kind: 'extract' | 'agent';
  id: string;
  jobNo: string;
  key: ActorKey;
  startAt: number;
  cancelAt: number | null;
  timeoutMs: number;
  /** Of an agent: its answer comes with this move. */
  answersAt: number;
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
const TEN_HOURS_MS = 10 * 3_600_000;

export class ModelWorld extends CrawlWorld {
  private readonly modelJobs: ModelJob[] = [];
  private readonly running: RunningTask[] = [];
  private readonly recorded = new Map<string, Recorded>();
  /** Calls of a model by step. */
  private readonly calls = new Map<string, number>();
  private readonly failures = new Map<string, number>();
  private readonly failedTokens = new Map<string, number>();
  private readonly errorChance: number;
  private readonly deathChance: number;

  constructor(seed: number, options: WorldOptions = {}) {
    super(seed, options);
    const { random, isGentle, store } = this.stage;
    this.errorChance = random.pick([0, 0.1]);
    this.deathChance = isGentle ? 0 : random.pick([0, 0.05]);
    this.modelJobs.push(this.make('extract', 0));
    if (random.chance(0.2)) this.modelJobs.push(this.make('extract', 1));
    if (random.chance(0.5)) this.modelJobs.push(this.make('agent', 2));
    const { beforeWrite } = store.faults;
    store.faults.beforeWrite = (head, writes) => {
      beforeWrite(head, writes);
      this.checkTasks(writes);
    };
  }

  /** Pages are fetched for extractions only. */
  protected override addJobs(): void {}

  protected override moreDefs(): ActorDef<unknown, unknown>[] {
    return [extractActor(), agentActor({ maxCredits: 100 })];
  }

  protected override isOver(): boolean {
    return super.isOver() && this.modelJobs.every(({ key }) => this.stage.store.actors.get(key)?.terminal === true);
  }

  protected override describe(): string {
    const rows = this.modelJobs.map(({ key }) => `${key} ${this.stage.store.actors.get(key)?.state ?? ''}`);
    return [super.describe(), ...rows].join('; ');
  }

  protected override hasWork(): boolean {
    return super.hasWork() || this.running.length > 0;
  }

  protected override keys(): ActorKey[] {
    return [...super.keys(), ...this.modelJobs.map(({ key }) => key)];
  }

  protected override trouble(): Promise<void> {
    if (this.stage.isGentle || this.running.length === 0 || this.stage.random.chance(0.7)) return super.trouble();
    this.kill(this.stage.random.pick(this.running));
    return Promise.resolve();
  }

  protected override gateway(): void {
    super.gateway();
    const now = this.stage.elapsed;
    for (const job of this.modelJobs) {
      const { row } = this.stage.store.job(job.jobNo);
      if (row === null && now >= job.startAt) {
        job.startAt = now + 10_000;
        this.stage.send(job.key, this.startOf(job));
      }
      if (job.cancelAt === null || row === null || row.finished || now < job.cancelAt) continue;
      job.cancelAt = now + 2_000;
      this.stage.send(job.key, { type: 'Cancel', job: job.id });
    }
  }

  protected override stepWorkers(): void {
    const { random } = this.stage;
    if (this.running.length > 0 && random.chance(0.5)) return this.stepExtractor(random.pick(this.running));
    super.stepWorkers();
  }

  protected override startWork(work: WorkItem): void {
    if (work.msg.type !== 'ModelTask') return super.startWork(work);
    const task = work.msg;
    const { random, time } = this.stage;
    if (this.recorded.has(nameOf(task))) return this.answer(task);
    this.busy(task);
    // Some start before the plan is known.
    if (task.step === PLAN_STEP) this.makeChildren(task);
    const until = time.now() + random.int(5, random.chance(0.1) ? 150_000 : 2_000);
    this.running.push({ task, work, until, speakAt: time.now() + 20_000 });
  }

  // ------------------------------------------------------------------------------------------------ extractors

  private stepExtractor(running: RunningTask): void {
    const { task, until } = running;
    const { time, random, bus, isFaulty } = this.stage;
    if (time.now() < until) {
      if (time.now() >= running.speakAt) {
        running.speakAt = time.now() + 20_000;
        this.busy(task);
      }
      return time.advance(random.int(0, 100));
    }
    this.running.splice(this.running.indexOf(running), 1);
    if (!this.recorded.has(nameOf(task)) && !this.work(task)) return;
    // It may die between the record and the answer.
    if (isFaulty && random.chance(this.deathChance)) return void bus.work.push(running.work);
    this.answer(task);
  }

  private kill(running: RunningTask): void {
    this.running.splice(this.running.indexOf(running), 1);
    this.stage.bus.work.push(running.work);
  }

  /** False: it failed, and the actor was told. */
  private work(task: ModelTask): boolean {
    const name = nameOf(task);
    this.calls.set(name, (this.calls.get(name) ?? 0) + 1);
    const tokens = this.stage.random.int(1, 50);
    const error = this.errorOf(task);
    if (error !== null) {
      this.failures.set(name, (this.failures.get(name) ?? 0) + 1);
      this.failedTokens.set(task.jobNo, (this.failedTokens.get(task.jobNo) ?? 0) + tokens);
      this.stage.send(task.actor, { ...this.doneOf(task), tokens, error, outcome: null });
      return false;
    }
    this.recorded.set(name, { outcome: this.outcomeOf(task), tokens });
    return true;
  }

  /** Pages of a number without facts fail for good; anything may fail for a while. */
  private errorOf({ step, work }: ModelTask): ErrorWire | null {
    if (this.errorChance === 0 || step === PLAN_STEP) return null;
    if (work.what === 'pages' && work.ords[0] % 7 === 0) return NEVER;
    return this.stage.isFaulty && this.stage.random.chance(this.errorChance) ? LATER : null;
  }

  private outcomeOf(task: ModelTask): Recorded['outcome'] {
    const { work } = task;
    if (work.what === 'plan') return { what: 'planned', children: this.makeChildren(task), warning: null };
    if (work.what === 'merge') return { what: 'merged', warning: null };
    if (work.what === 'act') return { what: 'acted', end: this.endOf(task, work.n), warning: null };
    this.checkStored(work);
    return { what: 'read', warning: null };
  }

  private endOf({ job }: ModelTask, n: number): 'answered' | null {
    return n >= this.modelJobs.find(({ id }) => id === job)!.answersAt ? 'answered' : null;
  }

  private answer(task: ModelTask): void {
    const { outcome, tokens } = this.recorded.get(nameOf(task))!;
    this.stage.send(task.actor, { ...this.doneOf(task), tokens, error: null, outcome });
  }

  private doneOf({ step, attempt }: ModelTask): Pick<ModelDone, 'type' | 'step' | 'attempt' | 'credits'> {
    return { type: 'ModelDone', step, attempt, credits: 0 };
  }

  private busy({ actor, step, attempt }: ModelTask): void {
    this.stage.send(actor, { type: 'ModelBusy', step, attempt });
  }

  /** An attempt that dies leaves children behind; the next one finds them, or wants fewer. */
  private makeChildren({ job, actor }: ModelTask): ChildJob[] {
    const count = this.stage.random.int(1, 3);
    return Array.from({ length: count }, (_, nth) => {
      const id = childJobOf(job, nth);
      const { jobNo, kind } = this.jobs.all.find((known) => known.id === id) ?? this.makeChild(id, actor);
      return { job: id, jobNo, kind };
    });
  }

  private makeChild(id: string, parent: ActorKey): SimJob {
    const { random, store } = this.stage;
    const kind = random.chance(0.6) ? 'batch' : 'crawl';
    const seeds = kind === 'batch' ? this.jobs.someUrls().slice(0, MAX_PAGES) : [];
    const job = this.jobs.make(id, String(1_000 + this.jobs.all.length), kind);
    store.job(job.jobNo).seeds.push(...seeds);
    Object.assign(job, { seeds, limit: kind === 'batch' ? seeds.length : random.int(1, MAX_PAGES), parent });
    this.jobs.all.push(job);
    return job;
  }

  // ------------------------------------------------------------------------------------------------ jobs

  private make(kind: ModelJob['kind'], i: number): ModelJob {
    const { random } = this.stage;
    const id = `00000000-0000-4000-8000-0000000001${10 + i}`;
    return {
      kind,
      id,
      jobNo: String(500 + i),
      key: actorKey(kind, id),
      startAt: random.int(0, 5_000),
      cancelAt: random.chance(0.15) ? random.int(0, 30_000) : null,
      timeoutMs: random.chance(0.1) ? random.int(5_000, 60_000) : TEN_HOURS_MS,
      answersAt: random.int(1, MAX_MOVES.low + 2),
    };
  }

  private startOf({ kind, id, jobNo, timeoutMs }: ModelJob): Start {
    const [team] = this.stage.teams.keys();
    const createdMs = this.stage.time.wall();
    const head = { type: 'Start' as const, job: id, jobNo, team: team!, keyId: null, createdMs };
    if (kind === 'extract') return { ...head, kind, spec: { ...EXTRACT_SPEC, timeoutMs } };
    return { ...head, kind, spec: { ...AGENT_SPEC, timeoutMs } };
  }

  // ------------------------------------------------------------------------------------------------ verdict

  /** I12: what is over is not handed out again, nor is anything for a job that has ended. */
  private checkTasks({ outbox }: TurnWrites): void {
    for (const { payload, from } of outbox) {
      if (payload.kind !== 'work' || payload.msg.type !== 'ModelTask') continue;
      const stored = this.stage.store.actors.get(from)!.state;
      if (stored === null) continue;
      const { s: before } = JSON.parse(stored) as { s: ExtractState | AgentState };
      const { step } = payload.msg;
      const isOver = before.steps[step] === undefined && wasBegun(before, step);
      if (isOver || before.phase === 'closing' || before.phase === 'over')
        this.stage.fail('I12', `${from}: ${step} was handed out although it was over`);
    }
  }

  /** I2: what is to be read is stored. */
  private checkStored({ childNo, ords }: { childNo: string; ords: [number, number] }): void {
    const stored = this.stage.store.job(childNo).pages.length;
    for (const ord of numbersOf([ords]))
      if (ord > stored) this.stage.fail('I2', `page ${ord} of ${childNo} is to be read, ${stored} are stored`);
  }

  protected override checkAll(): void {
    super.checkAll();
    for (const job of this.modelJobs) this.checkModelJob(job);
    if (!this.stage.isGentle) return;
    for (const [name, calls] of this.calls) {
      const needed = 1 + (this.failures.get(name) ?? 0);
      if (calls > needed) this.stage.fail('I12', `${name} took ${calls} calls of a model, ${needed} needed`);
    }
  }

  private checkModelJob(job: ModelJob): void {
    const { jobNo, key, kind } = job;
    const fail = (invariant: string, detail: string): never => this.stage.fail(invariant, `${key}: ${detail}`);
    const { row, ledger } = this.stage.store.job(jobNo);
    if (row === null || !row.finished || row.status === 'scraping') return fail('I3', `ended as ${row?.status}`);
    const tokens = row.tokens ?? 0;
    const steps = [...this.recorded].filter(([name]) => name.startsWith(`${jobNo} `));
    const told = steps.reduce((sum, [, step]) => sum + step.tokens, 0);
    if (tokens > told + (this.failedTokens.get(jobNo) ?? 0)) fail('I7', `${tokens} tokens, extractors used fewer`);
    if (row.credits !== tokenCredits(tokens) || ledger !== row.credits)
      fail('I7', `${row.credits} credits, billed ${ledger} for ${tokens} tokens`);
    if (row.status !== 'completed') return;
    if (tokens < told) fail('I7', `${tokens} tokens, finished steps used ${told}`);
    if (kind === 'agent') this.checkMoves(job, row.completed, steps.length, fail);
    else this.checkRead(row, steps, fail);
  }

  /** I13: an agent that came to an answer made exactly the moves up to it. */
  private checkMoves(
    { answersAt }: ModelJob,
    completed: number,
    moves: number,
    fail: (invariant: string, detail: string) => never,
  ): void {
    if (moves !== answersAt || completed !== answersAt)
      fail('I13', `${moves} moves, ${completed} shown; the answer came with move ${answersAt}`);
  }

  /** I13: of a completed job every page of every child in its plan was read, or is counted as given up. */
  private checkRead(
    row: { jobNo: string; total: number; completed: number },
    steps: [string, Recorded][],
    fail: (invariant: string, detail: string) => never,
  ): void {
    const plan = this.recorded.get(`${row.jobNo} ${PLAN_STEP}`)!.outcome;
    const children = plan.what === 'planned' ? plan.children : [];
    const pages = children.reduce((sum, child) => sum + this.stage.store.job(child.jobNo).pages.length, 0);
    const read = steps.filter(([name]) => parsePageStep(name.split(' ')[1]!) !== null).length;
    if (row.total !== pages || row.completed !== pages) fail('I13', `${row.completed}/${row.total} of ${pages} pages`);
    if (this.errorChance === 0 && read !== pages) fail('I13', `${read} of ${pages} pages were read`);
  }
}

const AGENT_SPEC: AgentSpec = {
  prompt: 'names',
  urls: [],
  schema: null,
  strictUrls: false,
  maxCredits: null,
  effort: 'low',
  scrape: EXTRACT_SPEC.scrape,
  timeoutMs: TEN_HOURS_MS,
  webhook: null,
  model: null,
};

function wasBegun(state: ExtractState | AgentState, step: string): boolean {
  if (!('children' in state)) return Array.from({ length: state.done }, (_, i) => actStep(i + 1)).includes(step);
  const page = parsePageStep(step);
  if (page === null) return step === PLAN_STEP ? state.stage !== 'plan' : state.stage === 'merged';
  const child = Object.values(state.children).find(({ place }) => place === page.child);
  return child !== undefined && child.next > page.ord;
}

function nameOf({ jobNo, step }: ModelTask): string {
  return `${jobNo} ${step}`;
}
