/**
 * Patterns and schemas of callers are compiled in one thread, away from the event loop: one request at a time, the teams
 * in turn, each request within its time. What takes longer is refused, and the thread ended.
 */
import { createHash } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { ApiError } from '../errors/api-error.js';
import type { CompileProblem, CompileReply, CompileTask } from './compile.worker.js';

/** Of one request, from the moment at which the thread begins with it. */
const DEADLINE_MS = 500;
const MAX_WAITING_OF_TEAM = 50;
const RETRY_AFTER_S = 5;
/** A team whose request took this long waits for a multiple of it: it gets a fifth of a core at the most. */
const LONG_MS = 50;
const REST_FACTOR = 4;
const KEPT_SCHEMAS = 1_000;
const MAX_HEAP_MB = 256;

interface Verdict {
  problems: CompileProblem[];
  /** Whether each task was looked at. */
  isWhole: boolean;
}

interface Job {
  tasks: readonly CompileTask[];
  resolve(verdict: Verdict): void;
  reject(error: unknown): void;
}

interface Team {
  waiting: Job[];
  /** `performance.now()` */
  restsUntil: number;
}

interface Running {
  job: Job;
  team: Team;
  startedAt: number;
  deadline: NodeJS.Timeout;
}

export class CompileThread {
  /** In the order of their turns. */
  readonly #teams = new Map<string, Team>();
  /** What is wrong with schemas, by their hash: clients send the same ones again and again. */
  readonly #schemas = new LRUCache<string, { problem: string | null }>({ max: KEPT_SCHEMAS });
  /** Index of the task that the thread has in hand. */
  readonly #inHand = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #worker: Worker | null = null;
  #isReady = false;
  #running: Running | null = null;
  #alarm: NodeJS.Timeout | undefined;

  /**
   * What is wrong with the tasks of one request; nothing is said of those behind one that takes too long.
   * @throws ApiError 429 when too many requests of the team wait already
   */
  async check(team: string, tasks: readonly CompileTask[]): Promise<CompileProblem[]> {
    const keys = tasks.map(keyOf);
    const known = keys.map((key) => (key === null ? undefined : this.#schemas.get(key)));
    const open = [...tasks.keys()].filter((index) => known[index] === undefined);
    const { problems, isWhole } =
      open.length === 0
        ? NOTHING
        : await this.#compile(
            team,
            open.map((index) => tasks[index]!),
          );
    const found = new Map(problems.map(({ index, message }) => [open[index]!, message]));
    for (const index of isWhole ? open : []) {
      const key = keys[index];
      if (typeof key === 'string') this.#schemas.set(key, { problem: found.get(index) ?? null });
    }
    return [...tasks.keys()].flatMap((index) => {
      const message = found.get(index) ?? known[index]?.problem ?? null;
      return message === null ? [] : [{ index, message }];
    });
  }

  async stop(): Promise<void> {
    await this.#worker?.terminate();
  }

  #compile(team: string, tasks: readonly CompileTask[]): Promise<Verdict> {
    const turns = this.#teams.get(team) ?? { waiting: [], restsUntil: 0 };
    if (turns.waiting.length >= MAX_WAITING_OF_TEAM) throw tooMany();
    this.#teams.set(team, turns);
    return new Promise((resolve, reject) => {
      turns.waiting.push({ tasks, resolve, reject });
      this.#next();
    });
  }

  /** Gives the thread the first request of the team whose turn it is, or comes back when a team has rested. */
  #next(): void {
    clearTimeout(this.#alarm);
    if (this.#running !== null) return;
    const now = performance.now();
    let restMs = Infinity;
    for (const [name, team] of this.#teams) {
      const [job] = team.waiting;
      if (job === undefined && team.restsUntil <= now) this.#teams.delete(name);
      if (job === undefined) continue;
      if (team.restsUntil > now) {
        restMs = Math.min(restMs, team.restsUntil - now);
        continue;
      }
      if (!this.#wake().isReady) return;
      team.waiting.shift();
      // Behind all others.
      this.#teams.delete(name);
      this.#teams.set(name, team);
      return this.#run(job, team);
    }
    if (restMs < Infinity) this.#alarm = setTimeout(() => this.#next(), Math.ceil(restMs));
  }

  #run(job: Job, team: Team): void {
    const deadline = setTimeout(() => this.#end(`Compiling this took longer than ${DEADLINE_MS} ms`), DEADLINE_MS);
    this.#running = { job, team, startedAt: performance.now(), deadline };
    this.#inHand[0] = 0;
    this.#worker?.postMessage(job.tasks);
  }

  #finish(verdict: Verdict): void {
    const running = this.#running;
    if (running === null) return;
    const { job, team, startedAt, deadline } = running;
    this.#running = null;
    clearTimeout(deadline);
    const now = performance.now();
    if (now - startedAt > LONG_MS) team.restsUntil = now + REST_FACTOR * (now - startedAt);
    job.resolve(verdict);
    this.#next();
  }

  /** The thread, with the request that it works at. */
  #end(message: string): void {
    const worker = this.#worker;
    this.#worker = null;
    this.#isReady = false;
    void worker?.terminate();
    this.#finish({ problems: [{ index: Atomics.load(this.#inHand, 0), message }], isWhole: false });
  }

  #wake(): { isReady: boolean } {
    this.#worker ??= this.#start();
    return { isReady: this.#isReady };
  }

  #start(): Worker {
    const worker = new Worker(new URL('./compile.worker.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
      workerData: this.#inHand,
    });
    // It keeps no process alive: whoever waits does.
    worker.unref();
    worker.on('message', (reply: CompileReply) => {
      if (worker !== this.#worker) return;
      if (reply !== 'ready') return this.#finish({ problems: reply, isWhole: true });
      this.#isReady = true;
      this.#next();
    });
    worker.on('error', (error) => this.#onDeath(worker, error));
    return worker;
  }

  #onDeath(worker: Worker, error: unknown): void {
    if (worker !== this.#worker) return;
    if (this.#running !== null) return this.#end('Compiling this takes too much memory');
    this.#worker = null;
    this.#isReady = false;
    for (const team of this.#teams.values()) for (const job of team.waiting.splice(0)) job.reject(error);
  }
}

const NOTHING: Verdict = { problems: [], isWhole: true };

function keyOf({ kind, text }: CompileTask): string | null {
  return kind === 'schema' ? createHash('sha256').update(text).digest('base64') : null;
}

function tooMany(): ApiError {
  return new ApiError(429, 'Too many requests of this team wait for their patterns and schemas to be compiled', {
    retryAfterS: RETRY_AFTER_S,
  });
}
