import { describe, expect, it } from '@jest/globals';
import { TroupeError, type ActorMessage, type ModelDone, type ModelTask } from '@troupe/contracts';
import type { ModelStep } from '@troupe/persistence';
import { setTimeout as sleep } from 'node:timers/promises';
import { ModelError } from '../models/model.js';
import { TaskRunner } from './task-runner.js';
import type { StepResult } from './task.js';

const MERGED: StepResult = { outcome: { what: 'merged', warning: null }, value: 1, tokens: 45, credits: 2 };

function taskOf(over: Partial<ModelTask> = {}): ModelTask {
  const task = { type: 'ModelTask', actor: 'extract/j', job: 'j', jobNo: '1', team: 't', keyId: null, step: 'merge' };
  return { ...task, attempt: 1, deadlineMs: 60_000, work: { what: 'merge', spec: {} }, ...over } as ModelTask;
}

type Work = (signal: AbortSignal) => Promise<StepResult>;

function around(work: Work, { busyMs = 60_000, graceMs = 60_000 } = {}) {
  const recorded = new Map<string, ModelStep>();
  const said: ActorMessage[] = [];
  const cancelled = new Set<string>();
  const listeners: ((job: string) => void)[] = [];
  let runs = 0;
  const runner = new TaskRunner({
    instance: 'x',
    busyMs,
    graceMs,
    steps: {
      find: (_, step) => Promise.resolve(recorded.get(step) ?? null),
      record: (_, step) => {
        if (!recorded.has(step.step)) recorded.set(step.step, step);
        return Promise.resolve(recorded.get(step.step)!);
      },
    },
    mailboxes: {
      publishActor: ({ body }) => {
        said.push(body as ActorMessage);
        return Promise.resolve();
      },
    },
    cancels: {
      isCancelled: (job) => cancelled.has(job),
      onCancel: (listener) => {
        listeners.push(listener);
        return () => undefined;
      },
    },
    handlers: {
      merge: {
        run: (_, signal) => {
          runs++;
          return work(signal);
        },
      },
    },
  });
  const done = () => said.filter((message): message is ModelDone => message.type === 'ModelDone');
  const cancel = (job: string) => {
    cancelled.add(job);
    for (const listener of listeners) listener(job);
  };
  return { runner, recorded, said, done, cancel, runs: () => runs };
}

const untilAborted: Work = (signal) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));

describe('a step of a job', () => {
  it('is recorded before its actor is told', async () => {
    const { runner, recorded, said } = around(() => Promise.resolve(MERGED));
    await runner.run(taskOf());
    expect(recorded.get('merge')).toMatchObject({
      tokens: 45,
      credits: 2,
      result: { outcome: MERGED.outcome, value: 1 },
    });
    expect(said).toEqual([
      { type: 'ModelBusy', step: 'merge', attempt: 1 },
      { type: 'ModelDone', step: 'merge', attempt: 1, tokens: 45, credits: 2, error: null, outcome: MERGED.outcome },
    ]);
  });

  it('is only told again when its record is there', async () => {
    const { runner, done, runs } = around(() => Promise.resolve(MERGED));
    await runner.run(taskOf());
    await runner.run(taskOf({ attempt: 2 }));
    expect(runs()).toBe(1);
    expect(done()).toMatchObject([{ attempt: 1 }, { attempt: 2, tokens: 45, outcome: MERGED.outcome }]);
  });

  it('is done once when it comes twice at a time', async () => {
    const { runner, runs, done } = around(async () => {
      await sleep(20);
      return MERGED;
    });
    await Promise.all([runner.run(taskOf()), runner.run(taskOf({ attempt: 2 }))]);
    expect([runs(), done().length]).toEqual([1, 1]);
  });

  it('says that it goes on while it does', async () => {
    const told = () => said.filter(({ type }) => type === 'ModelBusy');
    const { runner, said } = around(
      async () => {
        while (told().length < 3) await sleep(5);
        return MERGED;
      },
      { busyMs: 10 },
    );
    await runner.run(taskOf());
    expect(told().length).toBeGreaterThan(2);
    expect(said.at(-1)!.type).toBe('ModelDone');
  });

  it('tells its failure with the tokens that were used, and records nothing', async () => {
    const tokens = { prompt: 30, answer: 3 };
    const busy = new ModelError('SCRAPE_JSON_FAILED', 'the provider is busy', { tokens, retryable: true });
    const { runner, recorded, done } = around(() => Promise.reject(busy));
    await runner.run(taskOf());
    expect(done()).toMatchObject([
      { tokens: 33, credits: 0, outcome: null, error: { code: 'SCRAPE_JSON_FAILED', retryable: true } },
    ]);
    expect(recorded.size).toBe(0);
  });

  it('is worth another try after an unforeseen error, and not after a clear refusal', async () => {
    const odd = around(() => Promise.reject(new Error('connection lost')));
    await odd.runner.run(taskOf());
    expect(odd.done()).toMatchObject([{ error: { retryable: true } }]);
    const clear = around(() => Promise.reject(new TroupeError('BAD_REQUEST', 'no')));
    await clear.runner.run(taskOf());
    expect(clear.done()).toMatchObject([{ error: { code: 'BAD_REQUEST', retryable: false } }]);
  });

  it('fails for good when the time of the job is up', async () => {
    const { runner, done } = around(untilAborted);
    await runner.run(taskOf({ deadlineMs: 20 }));
    expect(done()).toMatchObject([{ error: { code: 'SCRAPE_TIMEOUT', retryable: false }, outcome: null }]);
  });

  it('ends unheard when its job is cancelled, and is not begun afterwards', async () => {
    const { runner, cancel, done, recorded, runs } = around(untilAborted);
    const run = runner.run(taskOf());
    await sleep(5);
    cancel('j');
    expect(await run).toBeUndefined();
    await runner.run(taskOf({ step: 'plan', work: { what: 'merge', spec: {} } as ModelTask['work'] }));
    expect([done(), recorded.size, runs()]).toEqual([[], 0, 1]);
  });

  it('goes to another extractor when this one drains', async () => {
    const { runner, done, recorded } = around(untilAborted, { graceMs: 10 });
    const run = runner.run(taskOf());
    await sleep(5);
    runner.drain();
    expect(await run).toEqual({ retryMs: 500 });
    expect(await runner.run(taskOf({ step: 'plan' }))).toEqual({ retryMs: 500 });
    expect([done(), recorded.size]).toEqual([[], 0]);
  });

  it('may end while this extractor drains', async () => {
    const { runner, done } = around(async () => {
      await sleep(20);
      return MERGED;
    });
    const run = runner.run(taskOf());
    await sleep(5);
    runner.drain();
    expect(await run).toBeUndefined();
    expect(done()).toHaveLength(1);
  });
});
