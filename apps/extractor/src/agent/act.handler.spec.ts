import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  actorKey,
  actStep,
  plainScrape,
  RPC,
  TroupeError,
  type AgentSpec,
  type FetchReply,
  type FetchRequest,
} from '@troupe/contracts';
import type { Rpc } from '@troupe/messaging';
import type { ExtractResult, ModelStep, ModelSteps } from '@troupe/persistence';
import type { SearchProvider } from '@troupe/search';
import { ModelError, type LanguageModel, type ModelAnswer, type ModelQuestion } from '../models/model.js';
import type { ActHandler } from './act.handler.js';
import { createAgent } from './create-agent.js';
import type { ActTask } from './tools/agent-tool.js';

const SPEC: AgentSpec = {
  prompt: 'founders of acme',
  urls: ['http://www.acme.test/'],
  schema: null,
  strictUrls: false,
  maxCredits: null,
  effort: 'low',
  scrape: plainScrape({ formats: [{ type: 'markdown' }, { type: 'links' }], timeoutMs: 30_000, onlyMainContent: true }),
  timeoutMs: 600_000,
  webhook: null,
  model: null,
};

type Call = ModelAnswer['toolCalls'][number];
const TOKENS = { prompt: 100, answer: 10 };

/** A model that makes these calls and answers, one after the other; a token is a character. */
class ScriptedModel implements LanguageModel {
  readonly questions: ModelQuestion[] = [];
  contextTokens = 10_000;
  readonly replies: (Call | { value: unknown } | Error)[] = [];

  countTokens(text: string): number {
    return text.length;
  }

  ask(question: ModelQuestion): Promise<ModelAnswer> {
    this.questions.push(question);
    const reply = this.replies.shift()!;
    if (reply instanceof Error) return Promise.reject(reply);
    const isCall = 'name' in reply;
    return Promise.resolve({
      value: isCall ? null : reply.value,
      toolCalls: isCall ? [reply] : [],
      tokens: TOKENS,
      notes: [],
    });
  }
}

class MemorySteps implements Pick<ModelSteps, 'list' | 'keepResult'> {
  readonly rows: ModelStep[] = [];
  kept: ExtractResult | null = null;

  list(): Promise<ModelStep[]> {
    // As jsonb gives them back: keys in another order.
    return Promise.resolve(JSON.parse(JSON.stringify(this.rows)) as ModelStep[]);
  }

  keepResult(_jobNo: string, result: ExtractResult): Promise<void> {
    this.kept = result;
    return Promise.resolve();
  }
}

let model: ScriptedModel;
let steps: MemorySteps;
let fetched: FetchRequest[];
let page: { head: FetchReply; document: object };
let hits: string[];
let agent: ActHandler;

beforeEach(() => {
  model = new ScriptedModel();
  steps = new MemorySteps();
  fetched = [];
  hits = ['http://acme.test/'];
  const head: FetchReply = {
    ok: true,
    statusCode: 200,
    finalUrl: 'http://acme.test/x',
    engine: 'http',
    ms: 1,
    credits: 1,
  };
  page = { head, document: { markdown: 'Founder: Ada', links: ['http://acme.test/y'], metadata: { title: 'X' } } };
  const call = (subject: string, request: object) => {
    expect(subject).toBe(RPC.fetchHttp);
    fetched.push(request as FetchRequest);
    return Promise.resolve({ head: page.head, body: Buffer.from(JSON.stringify(page.document)) });
  };
  const search: SearchProvider = {
    search: () =>
      Promise.resolve({
        hits: hits.map((url) => ({ url, title: 'T', text: '', date: null, imageUrl: null, imageSize: null })),
        warning: null,
      }),
  };
  agent = createAgent({
    models: { of: () => Promise.resolve(model) },
    steps: steps as unknown as ModelSteps,
    calls: { call: call as unknown as Rpc['call'] },
    search,
  });
});

function taskOf(n: number, spec: Partial<AgentSpec> = {}, creditsLeft = 10_000): ActTask {
  return {
    type: 'ModelTask',
    actor: actorKey('agent', 'j'),
    job: 'j',
    jobNo: '7',
    team: 't',
    keyId: null,
    step: actStep(n),
    attempt: 1,
    deadlineMs: 60_000,
    work: { what: 'act', spec: { ...SPEC, ...spec }, n, creditsLeft },
  };
}

/** Makes a move and records it, as its caller does. */
async function act(reply: Call | { value: unknown }, spec: Partial<AgentSpec> = {}, creditsLeft?: number) {
  model.replies.push(reply);
  const task = taskOf(steps.rows.length + 1, spec, creditsLeft);
  const { outcome, value, tokens, credits } = await agent.run(task, new AbortController().signal);
  steps.rows.push({ step: task.step, tokens, credits, result: { outcome, value } });
  const { observation, action } = value as { observation: { text: string }; action: object };
  return { outcome, action, tokens, credits, text: observation.text };
}

const scrape = (url: string) => ({ name: 'scrape', arguments: { url } });

describe('a move of an agent', () => {
  it('reads a page and shows it in the next move as data, never outside of it', async () => {
    const first = await act(scrape('http://acme.test/x'));
    expect(first).toMatchObject({
      outcome: { what: 'acted', end: null },
      action: { creditsUsed: 0, action: 'scrape', input: { url: 'http://acme.test/x' } },
      tokens: 110,
      credits: 1,
    });
    await act({ value: { founders: ['Ada'] } });
    const { data, instructions, request } = model.questions[1]!;
    expect(data.map(({ label, url }) => [label, url])).toEqual([
      ['steps so far', null],
      ['result of step 1 (scrape)', 'http://acme.test/x'],
    ]);
    expect(data[1]!.text).toContain('Founder: Ada');
    expect(data[1]!.text).toContain('http://acme.test/y');
    expect(instructions + request).not.toContain('Ada');
  });

  it('is the answer when the model gives one, which is kept as the result', async () => {
    const answer = await act({ value: { founders: [] } });
    expect(answer.outcome).toEqual({ what: 'acted', end: 'answered', warning: null });
    expect(steps.kept).toEqual({ data: { founders: [] }, sources: {} });
  });

  it('asks for the form of the caller, or for any object', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    await act({ value: {} }, { schema });
    await act({ value: {} });
    expect(model.questions[0]!.schema).toEqual(schema);
    expect(model.questions[1]!.schema).toMatchObject({ type: 'object' });
  });

  it('is the answer, without tools, when no credits are left', async () => {
    await act(scrape('http://acme.test/x'));
    const last = await act({ value: {} }, {}, 0);
    expect(last.outcome).toMatchObject({ end: 'answered' });
    expect(model.questions[0]!.tools!.map(({ name }) => name)).toEqual(['search', 'map', 'scrape', 'extract']);
    expect(model.questions[1]!.tools).toBeUndefined();
  });

  it('counts what the run has cost before it', async () => {
    await act(scrape('http://acme.test/x'));
    await act(scrape('http://acme.test/y'));
    expect((await act(scrape('http://acme.test/z'))).action).toMatchObject({ creditsUsed: Math.ceil(220 / 15) + 2 });
  });

  it('may look at a part only of the credits that are left, the newest result first', async () => {
    page.document = { markdown: 'm'.repeat(5_000), links: [], metadata: {} };
    await act(scrape('http://acme.test/a'));
    await act(scrape('http://acme.test/b'));
    await act({ value: {} }, {}, 1_200);
    const { data } = model.questions[2]!;
    expect(data.map(({ label }) => label)).toEqual([
      'steps so far',
      'result of step 1 (scrape)',
      'result of step 2 (scrape)',
    ]);
    const sizes = data.map(({ text }) => text.length);
    expect(sizes[2]).toBeGreaterThan(5_000);
    expect(sizes[1]).toBeLessThan(1_000);
    expect(sizes[0]! + sizes[1]! + sizes[2]!).toBeLessThanOrEqual(6_000 + '\n[… cut]'.length);
  });

  it('does not do the same twice', async () => {
    await act({ name: 'extract', arguments: { url: 'nowhere', prompt: 'p' } });
    const again = await act({ name: 'extract', arguments: { prompt: 'p', url: 'nowhere' } });
    expect(again).toMatchObject({ text: 'This was done in step 1 already', credits: 0 });
  });

  it.each([
    [{ name: 'fly', arguments: {} }, 'There is no tool "fly"'],
    [{ name: 'scrape', arguments: {} }, '"url" must be a text'],
    [{ name: 'scrape', arguments: { url: 'file:///etc/passwd' } }, 'absolute http(s) URL'],
    [{ name: 'map', arguments: { url: 'ftp://x.test/' } }, 'absolute http(s) URL'],
    [{ name: 'map', arguments: { url: 'http://x.test/', search: 7 } }, '"search" must be a text'],
    [{ name: 'search', arguments: { query: ' ' } }, '"query" must be a text'],
  ])('is told what is wrong with %j', async (call, text) => {
    const move = await act(call);
    expect(move).toMatchObject({ text: expect.stringContaining(text), credits: 0, outcome: { end: null } });
    expect(fetched).toEqual([]);
  });

  it('is told why a page could not be had; an unknown host costs a credit', async () => {
    const error = {
      code: 'SCRAPE_DNS_RESOLUTION_ERROR',
      message: 'no such host',
      retryable: false,
      httpStatus: 200,
    } as const;
    page.head = { ok: false, error };
    expect(await act(scrape('http://gone.test/'))).toMatchObject({
      text: 'This did not work: no such host',
      credits: 1,
    });
  });

  it('finds pages by words, for the price of a search', async () => {
    expect(await act({ name: 'search', arguments: { query: 'acme' } })).toMatchObject({
      text: expect.stringContaining('1. http://acme.test/'),
      credits: 2,
    });
    hits = [];
    expect(await act({ name: 'search', arguments: { query: 'b' } })).toMatchObject({
      text: 'Nothing was found.',
      credits: 0,
    });
  });

  it('keeps a long answer of the model about its call out of the record', async () => {
    const { action } = await act({ name: 'search', arguments: { query: 'x'.repeat(100_000) } });
    expect(JSON.stringify(action).length).toBeLessThan(5_000);
  });

  it('fails with the tokens of all its calls when the model does', async () => {
    model.replies.push(
      new ModelError('SCRAPE_JSON_FAILED', 'down', { tokens: { prompt: 5, answer: 2 }, retryable: true }),
    );
    const failure = agent.run(taskOf(1), new AbortController().signal);
    await expect(failure).rejects.toMatchObject({ tokens: { prompt: 5, answer: 2 }, retryable: true });
  });

  it('counts the tokens of a question about a page that failed', async () => {
    model.replies.push({ name: 'extract', arguments: { url: 'http://acme.test/x', prompt: 'p' } });
    model.replies.push(new ModelError('SCRAPE_JSON_FAILED', 'too hard', { tokens: { prompt: 5, answer: 0 } }));
    const { tokens, credits, value } = await agent.run(taskOf(1), new AbortController().signal);
    expect({ tokens, credits }).toEqual({ tokens: 115, credits: 1 });
    expect(value).toMatchObject({ observation: { text: 'The page could not be read: too hard' } });
    expect(model.questions[1]!.tools).toBeUndefined();
  });

  it('ends with its signal, and not with an observation', async () => {
    const abort = new AbortController();
    model.replies.push(scrape('http://acme.test/x'));
    page.head = { ok: false, error: new TroupeError('SCRAPE_TIMEOUT', 'late') };
    abort.abort(new Error('cancelled'));
    await expect(agent.run(taskOf(1), abort.signal)).rejects.toThrow('cancelled');
  });
});

describe('an agent that is held to hosts', () => {
  const strict = { strictUrls: true };

  it('has no tool that asks other hosts', async () => {
    await act(scrape('http://acme.test/x'), strict);
    expect(model.questions[0]!.tools!.map(({ name }) => name)).toEqual(['scrape', 'extract']);
    expect(fetched[0]).toMatchObject({ url: 'http://acme.test/x', onlyHosts: ['acme.test'] });
    expect(await act({ name: 'search', arguments: { query: 'x' } }, strict)).toMatchObject({
      text: 'There is no tool "search"',
    });
  });

  it('reads no page of another host or port', async () => {
    for (const url of ['http://evil.test/?acme.test', 'http://acme.test:81/', 'http://acme.test@evil.test/']) {
      expect(await act(scrape(url), strict)).toMatchObject({ text: expect.stringContaining('acme.test'), credits: 0 });
    }
    expect(fetched).toEqual([]);
  });
});
