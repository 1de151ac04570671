/**
 * Patterns and schemas of callers are compiled in one thread, away from the event loop: one request at a time, the
 * teams in turn, each request within its time. A request that takes longer is refused, and the thread ended.
 */
import { createHash } from 'node:crypto';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { BoundedThread, OverrunError } from '@troupe/judging';
import { LRUCache } from 'lru-cache';
import { ApiError } from '../errors/api-error.js';
import type { CompileProblem, CompileTask } from './compile.worker.js';

/** Time for one request, from the moment at which the thread begins with it. */
const DEADLINE_MS = 500;
const MAX_WAITING_OF_TEAM = 50;
const RETRY_AFTER_S = 5;
/** A team whose request took this long rests for a multiple of it, so that it gets a fifth of a core at the most. */
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

@Injectable()
export class CompileThread implements OnApplicationShutdown {
  /** In the order of their turns. */
  private readonly teams = new Map<string, Team>();
  /** Problems of schemas, by their hash: clients send the same schemas again and again. */
  private readonly schemas = new LRUCache<string, { problem: string | null }>({ max: KEPT_SCHEMAS });
  /** Index of the task that the thread has in hand. */
  private readonly inHand = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  private readonly thread = new BoundedThread<readonly CompileTask[], CompileProblem[]>(
    {
      script: new URL('./compile.worker.js', import.meta.url),
      deadlineMs: DEADLINE_MS,
      maxHeapMb: MAX_HEAP_MB,
      workerData: this.inHand,
    },
    {
      onReady: () => this.next(),
      onDeath: (error) => {
        for (const team of this.teams.values()) for (const job of team.waiting.splice(0)) job.reject(error);
      },
    },
  );
  private isCompiling = false;
  private alarm: NodeJS.Timeout | undefined;

  /**
   * Problems of the tasks of one request. Tasks behind one that takes too long are not looked at.
   * @throws ApiError 429 when too many requests of the team wait already
   */
  async check(team: string, tasks: readonly CompileTask[]): Promise<CompileProblem[]> {
    const keys = tasks.map(keyOf);
    const known = keys.map((key) => (key === null ? undefined : this.schemas.get(key)));
    const open = [...tasks.keys()].filter((index) => known[index] === undefined);
    const { problems, isWhole } =
      open.length === 0
        ? NOTHING
        : await this.compile(
            team,
            open.map((index) => tasks[index]!),
          );
    const found = new Map(problems.map(({ index, message }) => [open[index]!, message]));
    for (const index of isWhole ? open : []) {
      const key = keys[index];
      if (typeof key === 'string') this.schemas.set(key, { problem: found.get(index) ?? null });
    }
    return [...tasks.keys()].flatMap((index) => {
      const message = found.get(index) ?? known[index]?.problem ?? null;
      return message === null ? [] : [{ index, message }];
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.thread.stop();
  }

  private compile(team: string, tasks: readonly CompileTask[]): Promise<Verdict> {
    const turns = this.teams.get(team) ?? { waiting: [], restsUntil: 0 };
    if (turns.waiting.length >= MAX_WAITING_OF_TEAM) throw tooMany();
    this.teams.set(team, turns);
    return new Promise((resolve, reject) => {
      turns.waiting.push({ tasks, resolve, reject });
      this.next();
    });
  }

  /** Gives the thread the first request of the team whose turn it is, or comes back when a team has rested. */
  private next(): void {
    clearTimeout(this.alarm);
    if (this.isCompiling) return;
    const now = performance.now();
    let restMs = Infinity;
    for (const [name, team] of this.teams) {
      const [job] = team.waiting;
      if (job === undefined && team.restsUntil <= now) this.teams.delete(name);
      if (job === undefined) continue;
      if (team.restsUntil > now) {
        restMs = Math.min(restMs, team.restsUntil - now);
        continue;
      }
      if (!this.thread.isReady()) return;
      team.waiting.shift();
      // Behind all others.
      this.teams.delete(name);
      this.teams.set(name, team);
      return void this.run(job, team);
    }
    if (restMs < Infinity) this.alarm = setTimeout(() => this.next(), Math.ceil(restMs));
  }

  private async run({ tasks, resolve, reject }: Job, team: Team): Promise<void> {
    this.isCompiling = true;
    this.inHand[0] = 0;
    const startedAt = performance.now();
    const verdict = this.verdictOf(tasks);
    await verdict.then(resolve, reject);
    const now = performance.now();
    if (now - startedAt > LONG_MS) team.restsUntil = now + REST_FACTOR * (now - startedAt);
    this.isCompiling = false;
    this.next();
  }

  /** The thread is ended with a task that takes too long. The tasks behind it are not judged. */
  private async verdictOf(tasks: readonly CompileTask[]): Promise<Verdict> {
    try {
      return { problems: await this.thread.ask(tasks), isWhole: true };
    } catch (error) {
      if (!(error instanceof OverrunError)) throw error;
      const message = error.message.replace(/^It /, 'Compiling this ');
      return { problems: [{ index: Atomics.load(this.inHand, 0), message }], isWhole: false };
    }
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
