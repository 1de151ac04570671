/** Reads one page with a language model: all formats of a request at once, each failing on its own. */
import {
  errorToWire,
  type ErrorWire,
  type ModelFormat,
  type ModelParts,
  type PageModelReply,
  type PageModelRequest,
  type PageTexts,
} from '@troupe/contracts';
import { documentKey } from '@troupe/formats';
import type { LanguageModel, Models } from '../models/model.js';
import type { LearnablePage, RecipeBook } from '../recipes/recipe-book.js';
import type { AskModel } from '../recipes/write-recipe.js';
import { answerChanges } from './changes-answer.js';
import { answerHighlights } from './highlights-answer.js';
import type { PageAnswer, SchemaCheck } from '../models/schema-check.js';
import { answerJson } from './json-answer.js';
import { PageCalls } from './page-calls.js';
import type { PageText } from './read-parts.js';
import { answerQuestion, answerSummary } from './text-answers.js';

export interface PageModelerOptions {
  models: Models;
  check: SchemaCheck;
  /** Token budget of all formats of a page together. */
  requestTokens: number;
  /** Selectors that were learned. @default every page is read by the model */
  recipes?: Pick<RecipeBook, 'answer'>;
}

type Part = keyof ModelParts | 'changes';

interface Job {
  what: ModelFormat['type'] | 'changes';
  part: Part;
  run(calls: PageCalls): Promise<PageAnswer>;
}

interface AskedPage {
  page: PageText;
  /** Its HTML, empty when nothing may be learned from it. */
  source: LearnablePage;
  calls: PageCalls;
}

/** Share of the time left after a page was read. Learning must not cost the page its answer. */
const LEARNING_SHARE = 0.5;

interface Outcome {
  job: Job;
  answer: PageAnswer | null;
  error: ErrorWire | null;
  calls: PageCalls;
}

export class PageModeler {
  constructor(private readonly options: PageModelerOptions) {}

  /** Rejects only with the signal's reason. Keeps nothing of the page or of the answer. */
  async answer(request: PageModelRequest, texts: PageTexts, signal: AbortSignal): Promise<PageModelReply> {
    const endsAtMs = performance.now() + request.deadlineMs;
    let model: LanguageModel;
    try {
      model = await this.options.models.of(request.team);
    } catch (error) {
      return { ok: false, error: errorToWire(error) };
    }
    const jobs = this.jobsOf(request, texts);
    const budgetTokens = Math.floor(this.options.requestTokens / Math.max(1, jobs.length));
    const outcomes = await Promise.all(
      jobs.map((job) => run(job, new PageCalls({ model, team: request.team, budgetTokens, endsAtMs, signal }))),
    );
    signal.throwIfAborted();
    return replyOf(outcomes);
  }

  private jobsOf({ team, url, title, formats, changes, zeroRetention }: PageModelRequest, texts: PageTexts): Job[] {
    const page: PageText = { label: 'page', url, title, markdown: texts.markdown };
    const source = { team, url, html: zeroRetention ? '' : (texts.html ?? '') };
    const jobs = formats.map((format): Job => ({
      what: format.type,
      part: documentKey(format.type) as Part,
      run: (calls) => this.answerFormat(format, { page, source, calls }),
    }));
    if (changes === null) return jobs;
    const { check } = this.options;
    const previous = texts.previous ?? '';
    const run = (calls: PageCalls) => answerChanges(page, previous, { ...changes, calls, check });
    return [...jobs, { what: 'changes', part: 'changes', run }];
  }

  private answerFormat(format: ModelFormat, asked: AskedPage): Promise<PageAnswer> {
    const { page, calls } = asked;
    switch (format.type) {
      case 'json':
        return this.answerJson(format, asked);
      case 'summary':
        return answerSummary(page, calls);
      case 'question':
        return answerQuestion(page, format.question, calls);
      case 'highlights':
        return answerHighlights(page, format.query, calls);
    }
  }

  private answerJson(
    format: Extract<ModelFormat, { type: 'json' }>,
    { page, source, calls }: AskedPage,
  ): Promise<PageAnswer> {
    const { recipes, check } = this.options;
    const { prompt, schema, learn } = format;
    const read = () => answerJson(page, format, { calls, check });
    if (!learn || schema === null || recipes === undefined) return read();
    const ask: AskModel = (question) => calls.ask(question, { share: LEARNING_SHARE });
    return recipes.answer(source, { prompt, schema }, { read, ask });
  }
}

async function run(job: Job, calls: PageCalls): Promise<Outcome> {
  try {
    return { job, answer: await job.run(calls), error: null, calls };
  } catch (error) {
    return { job, answer: null, error: errorToWire(error), calls };
  }
}

function replyOf(outcomes: readonly Outcome[]): PageModelReply {
  const made = outcomes.filter(({ answer }) => answer !== null);
  const values = Object.fromEntries(made.map(({ job, answer }) => [job.part, answer!.value]));
  const { changes, ...parts } = values as ModelParts & { changes?: unknown };
  const warnings = made.flatMap(({ answer, calls }) => [...answer!.warnings, ...calls.warnings()]);
  return {
    ok: true,
    parts,
    ...(changes === undefined ? {} : { changes }),
    tokens: outcomes.reduce((sum, { calls }) => sum + calls.used, 0),
    warnings: [...new Set(warnings)],
    failures: outcomes.flatMap(({ job, error }) => (error === null ? [] : [{ what: job.what, error }])),
  };
}
