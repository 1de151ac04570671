/**
 * A language model behind langchain's clients. A question becomes a prompt; the answer is asked for at the best rung
 * that the server offers, brought into form and checked. A wrong answer is asked for again with its problems.
 */
import { timeoutSignal, type ModelAccess, type Uuid } from '@troupe/contracts';
import { estimateTokens } from '@troupe/extraction';
import { SchemaError } from '@troupe/json-schema';
import { AnswerForm } from './answer-form.js';
import { CallFailure } from './call-failure.js';
import type { KnownHabits } from './habits.js';
import type { DataBlock, LanguageModel, ModelAnswer, ModelQuestion, TokenCount } from './model.js';
import { ModelError } from './model-error.js';
import { writePrompt, type Prompt } from './prompt.js';
import type { CallLimits, ProviderCaller } from './provider-caller.js';
import type { ChatReply, Rung } from './providers/provider.js';

/** The end of a call to a provider, for metrics. */
export interface CallReport {
  purpose: string;
  team: Uuid;
  provider: ModelAccess['provider'];
  model: string;
  /** null: a text was asked for. */
  rung: Rung | null;
  ms: number;
  tokens: TokenCount;
  outcome: 'answered' | 'repaired' | 'failed';
}

export interface ChatModelOptions {
  access: ModelAccess;
  caller: ProviderCaller;
  habits: KnownHabits;
  contextTokens: number;
  budget: TokenBudget;
  /** Names of the settings that an operator or a team has to correct. */
  settings: { key: string; model: string; address: string };
  onCall?: (report: CallReport) => void;
}

/** The token budget of a team. */
export interface TokenBudget {
  /** @throws ModelError when nothing is left */
  check(team: Uuid): Promise<void>;
  spend(team: Uuid, tokens: TokenCount): void;
}

/** Repairs of an answer: it is asked for again with its problems. */
const MAX_REPAIRS = 2;
const ENLARGEMENT = 4;
const MAX_SHOWN_PROBLEMS = 5;
const MAX_EARLIER_CHARS = 20_000;
const REPAIR =
  'An earlier answer to this task could not be used. The last data block shows it and its problems. Answer the whole task again, without them.';
const DEFAULT_HOSTS: Record<ModelAccess['provider'], string> = {
  openai: 'api.openai.com',
  azure: 'openai.azure.com',
  anthropic: 'api.anthropic.com',
  google: 'generativelanguage.googleapis.com',
  ollama: '127.0.0.1:11434',
};

interface Asking {
  question: ModelQuestion;
  form: AnswerForm;
  limits: CallLimits;
  tokens: TokenCount;
  maxAnswerTokens: number | null;
  /** Problems of the previous answer; null: there was none. */
  repair: { problems: string[]; earlier: string } | null;
}

interface Said {
  reply: ChatReply;
  rung: Rung | null;
}

export class ChatModel implements LanguageModel {
  constructor(private readonly options: ChatModelOptions) {}

  get contextTokens(): number {
    return this.options.contextTokens;
  }

  /** Loads the provider's package. */
  async load(): Promise<void> {
    await this.options.caller.client();
  }

  countTokens(text: string): number {
    return estimateTokens(text);
  }

  async ask(question: ModelQuestion, limits: { deadlineMs: number; signal: AbortSignal }): Promise<ModelAnswer> {
    const timeout = timeoutSignal(Math.max(1, Math.floor(limits.deadlineMs)));
    const asking: Asking = {
      question,
      form: await formOf(question),
      limits: {
        team: question.team,
        deadlineAtMs: performance.now() + limits.deadlineMs,
        signal: AbortSignal.any([limits.signal, timeout]),
      },
      tokens: { prompt: 0, answer: 0 },
      maxAnswerTokens: question.maxAnswerTokens ?? null,
      repair: null,
    };
    await this.options.budget.check(question.team);
    try {
      return await this.answer(asking);
    } catch (error) {
      throw this.errorOf(error, asking);
    } finally {
      this.options.budget.spend(question.team, asking.tokens);
    }
  }

  private async answer(asking: Asking): Promise<ModelAnswer> {
    const { form, tokens } = asking;
    let isEnlarged = false;
    for (let repairs = 0; ;) {
      const { reply, rung } = await this.climb(asking);
      refuseUnanswered(reply);
      const isCut = reply.end === 'truncated';
      if (isCut && !isEnlarged && (await this.enlarge(asking))) {
        isEnlarged = true;
        continue;
      }
      if (isCut && !form.isFree) throw new ModelError('SCRAPE_JSON_FAILED', this.cutText(asking));
      const reading = await form.read(reply, rung);
      if (reading.ok) {
        const notes = isCut ? ['the answer was cut off at its longest'] : [];
        return { ...reading.answer, tokens, notes: [...reading.answer.notes, ...notes] };
      }
      if (!reading.isJson && (rung === 'schema' || rung === 'tool')) this.options.habits.tellSchema = true;
      if (repairs++ >= MAX_REPAIRS) throw new ModelError('SCRAPE_JSON_FAILED', failedText(reading.problems));
      asking.repair = { problems: reading.problems, earlier: reply.text };
    }
  }

  /** One answer, from the first rung down to the one that the server understands. */
  private async climb(asking: Asking): Promise<Said> {
    const { form } = asking;
    if (form.isFree) return { reply: await this.tryRung(asking, null), rung: null };
    const { habits } = this.options;
    const all = form.rungsOf((await this.options.caller.client()).rungs);
    const known = habits.rung === null ? 0 : all.indexOf(habits.rung);
    const rungs = all.slice(Math.max(0, known));
    let lasting = true;
    for (const rung of rungs) {
      try {
        const reply = await this.tryRung(asking, rung);
        if (rung !== rungs[0] && lasting) habits.rung = rung;
        return { reply, rung };
      } catch (error) {
        const isLast = rung === rungs.at(-1);
        if (isLast || !(error instanceof CallFailure) || !canClimb(error)) throw error;
        lasting &&= error.kind === 'form' && error.details.isLasting;
      }
    }
    throw new ModelError('NOT_SUPPORTED', 'the model offers no way to ask for structured answers');
  }

  /** One rung, without what the server refuses beside it. */
  private async tryRung(asking: Asking, rung: Rung | null): Promise<ChatReply> {
    const { habits } = this.options;
    for (;;) {
      try {
        return await this.call(asking, rung);
      } catch (error) {
        if (!(error instanceof CallFailure)) throw error;
        const { refused } = error.details;
        if (refused === 'system' && habits.systemRole) habits.systemRole = false;
        else if (refused === 'temperature' && habits.temperature) habits.temperature = false;
        else if (refused === 'stream' && habits.stream) habits.stream = false;
        else if (refused === 'answer-tokens' && asking.maxAnswerTokens !== null) asking.maxAnswerTokens = null;
        else throw error;
      }
    }
  }

  private async call(asking: Asking, rung: Rung | null): Promise<ChatReply> {
    const { caller, habits } = this.options;
    const { form, limits, maxAnswerTokens } = asking;
    const asked = rung === null ? null : { rung, ...form.at(rung) };
    const prompt = this.promptOf(asking, asked);
    const from = performance.now();
    let spent: TokenCount = { prompt: 0, answer: 0 };
    let outcome: CallReport['outcome'] = 'failed';
    try {
      const reply = await caller.call({ ...prompt, form: asked, tools: form.offered, maxAnswerTokens, habits }, limits);
      spent = reply.usage ?? this.estimate(prompt, asked, reply);
      outcome = asking.repair === null ? 'answered' : 'repaired';
      return reply;
    } finally {
      asking.tokens.prompt += spent.prompt;
      asking.tokens.answer += spent.answer;
      const { access, onCall } = this.options;
      const { purpose, team } = asking.question;
      const { provider, model } = access;
      onCall?.({ purpose, team, provider, model, rung, ms: performance.now() - from, tokens: spent, outcome });
    }
  }

  /**
   * The schema is written into the prompt where the request has no other place for it, and for a model that has not
   * kept to it.
   */
  private promptOf({ question, repair }: Asking, asked: { rung: Rung; schema: object } | null): Prompt {
    const isTold = asked !== null && (asked.rung === 'schema' || asked.rung === 'tool');
    const inWords = asked === null || (isTold && repair === null && !this.options.habits.tellSchema);
    const schema = inWords ? null : (asked.schema as ModelQuestion['schema']);
    return writePrompt(repair === null ? question : repaired(question, repair), schema);
  }

  private estimate({ system, user }: Prompt, asked: object | null, { text, toolCalls }: ChatReply): TokenCount {
    const beside = asked === null ? 0 : estimateTokens(JSON.stringify(asked));
    const called = toolCalls.length === 0 ? 0 : estimateTokens(JSON.stringify(toolCalls));
    return { prompt: estimateTokens(system) + estimateTokens(user) + beside, answer: estimateTokens(text) + called };
  }

  /** False: the answer is as long as the provider lets it be. */
  private async enlarge(asking: Asking): Promise<boolean> {
    const limit = asking.maxAnswerTokens ?? (await this.options.caller.client()).answerTokens;
    if (limit === null) return false;
    asking.maxAnswerTokens = limit * ENLARGEMENT;
    return true;
  }

  private cutText({ maxAnswerTokens }: Asking): string {
    const at = maxAnswerTokens === null ? '' : ` at ${maxAnswerTokens} tokens`;
    return `the model's answer was cut off${at}: ask for less, or split the page`;
  }

  private errorOf(error: unknown, { limits, tokens, question }: Asking): ModelError {
    if (error instanceof ModelError) {
      const { code, message, retryable, isTooLong, cause } = error;
      return new ModelError(code, message, { retryable, isTooLong, cause, tokens });
    }
    if (limits.signal.aborted && !(error instanceof CallFailure)) {
      const text = `the model's provider at ${this.host} did not finish "${question.purpose}" in time`;
      return new ModelError('SCRAPE_TIMEOUT', text, { tokens, retryable: true });
    }
    if (!(error instanceof CallFailure)) {
      return new ModelError('UNKNOWN_ERROR', 'the language model could not be asked', { tokens, cause: error });
    }
    const { text, retryable } = this.explain(error);
    return new ModelError('SCRAPE_JSON_FAILED', text, { tokens, retryable, isTooLong: error.kind === 'too-long' });
  }

  private explain({ kind, message }: CallFailure): { text: string; retryable: boolean } {
    const { settings, access } = this.options;
    const provider = `the model's provider at ${this.host}`;
    if (kind === 'down') return { text: `${provider} is down: ${message}`, retryable: true };
    if (kind === 'busy') return { text: `${provider} is busy: ${message}`, retryable: true };
    const texts: Record<Exclude<CallFailure['kind'], 'down' | 'busy'>, string> = {
      denied: `${provider} refuses the key: check ${settings.key} (${message})`,
      'no-model': `${provider} does not know the model "${access.model}": check ${settings.model} and ${settings.address} (${message})`,
      forbidden: `${provider} is not asked: ${settings.address} leads to an address that is not allowed here (see ALLOW_PRIVATE_TARGETS)`,
      'no-credit': `${provider} has no credit left for the key of ${settings.key} (${message})`,
      'too-long': `the page is too long for the model "${access.model}": ${message}`,
      filtered: `${provider} filtered the page or the answer: ${message}`,
      form: `${provider} does not understand the request: ${message}`,
      'bad-request': `${provider} does not accept the request: ${message}`,
    };
    return { text: texts[kind], retryable: false };
  }

  /** Host of the provider's address, without credentials or path. */
  private get host(): string {
    const { baseUrl, provider } = this.options.access;
    return baseUrl === null ? DEFAULT_HOSTS[provider] : new URL(baseUrl).host;
  }
}

async function formOf(question: ModelQuestion): Promise<AnswerForm> {
  try {
    return await AnswerForm.of(question);
  } catch (error) {
    if (error instanceof SchemaError) throw new ModelError('BAD_REQUEST', error.message);
    throw error;
  }
}

/** Another way of asking may succeed, even where a server does not say what it dislikes. */
function canClimb({ kind }: CallFailure): boolean {
  return kind === 'form' || kind === 'bad-request';
}

function refuseUnanswered({ end, refusal }: ChatReply): void {
  if (refusal !== null) throw new ModelError('SCRAPE_JSON_FAILED', `the model refused: ${refusal.slice(0, 200)}`);
  if (end === 'filtered') throw new ModelError('SCRAPE_JSON_FAILED', "the model's provider filtered the answer");
}

/** The earlier answer and its problems may repeat the text of a page, so they are data too. */
function repaired(question: ModelQuestion, { problems, earlier }: NonNullable<Asking['repair']>): ModelQuestion {
  const list = problems.map((problem) => `- ${problem}`).join('\n');
  const text = `Problems:\n${list}\n\nAnswer:\n${earlier.slice(0, MAX_EARLIER_CHARS)}`;
  const block: DataBlock = { label: 'earlier answer', url: null, text };
  return { ...question, instructions: `${question.instructions}\n\n${REPAIR}`, data: [...question.data, block] };
}

function failedText(problems: string[]): string {
  const shown = problems.slice(0, MAX_SHOWN_PROBLEMS).join('; ');
  return `the model gave no usable answer in ${MAX_REPAIRS + 1} tries: ${shown}`;
}
