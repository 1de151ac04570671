/**
 * Step `merge`: the facts of all pages as one value that fits the schema, kept as the job's result.
 *
 * With a schema no model is asked: lists are joined in the order of the pages, items of several pages stand once, and
 * among different facts the one of most pages wins (`@troupe/extraction`). Without a schema the pages' answers may have
 * different forms. Then the model brings them into one form, once, if they fit into one question.
 */
import { TroupeError, type ExtractSpec, type JsonSchema, type ModelTask, type ModelWork } from '@troupe/contracts';
import { isEmpty, isObject, mergeSteps, type MergedValue, type SourcedValue } from '@troupe/extraction';
import type { ModelSteps } from '@troupe/persistence';
import type { DataBlock, LanguageModel, Models } from '../models/model.js';
import { inSlices } from '../pages/turns.js';
import type { StepResult, TaskHandler } from '../tasks/task.js';
import { sourcesOf } from './fact-sources.js';
import type { PageFacts } from './page-facts.js';

export type MergeWork = Extract<ModelWork, { what: 'merge' }>;
type MergeTask = ModelTask & { work: MergeWork };

/** A value made to fit a schema without inventing anything. */
export interface Fitted {
  value: unknown;
  /** Changes that were made to the value. */
  notes: string[];
  /** Problems that are left; empty: the value fits. */
  problems: string[];
}

export interface MergeParts {
  steps: Pick<ModelSteps, 'list' | 'keepResult'>;
  models: Models;
  fit(schema: JsonSchema, value: unknown): Promise<Fitted>;
}

const PAGE_STEPS = 'page/';
const ANY_OBJECT: JsonSchema = { type: 'object' };
const MAX_PROBLEMS = 3;
const INSTRUCTIONS =
  'Each block holds facts that were read on one web page, as JSON. Bring them into one JSON object that answers the request: ' +
  'one form for all, lists joined in the order of the blocks, the same thing only once. Add nothing that no block tells.';

interface Joined extends MergedValue {
  tokens: number;
  warnings: string[];
}

export class MergeHandler implements TaskHandler<MergeWork> {
  constructor(private readonly parts: MergeParts) {}

  /** @throws TroupeError when no page could be read */
  async run(task: MergeTask, signal: AbortSignal): Promise<StepResult> {
    const { spec } = task.work;
    const pages = await this.pages(task);
    const joined = await this.join(task, pages, signal);
    const { value, warnings } =
      spec.schema === null ? formless(joined.value) : await this.fitted(spec.schema, joined.value);
    if (isEmpty(value)) warnings.push('No page tells anything of what was asked.');
    const sources = spec.showSources ? joined.sources : {};
    await this.parts.steps.keepResult(task.jobNo, { data: value, sources });
    const warning = [...joined.warnings, ...warnings].join(' ') || null;
    return { outcome: { what: 'merged', warning }, value: null, tokens: joined.tokens, credits: 0 };
  }

  private async pages({ jobNo }: MergeTask): Promise<PageFacts[]> {
    const steps = await this.parts.steps.list(jobNo, PAGE_STEPS);
    const pages = steps.flatMap(({ result }) => (result as { value: PageFacts[] }).value);
    const failed = pages.find(({ error }) => error !== null);
    if (failed !== undefined && pages.every(({ error }) => error !== null)) {
      throw new TroupeError('SCRAPE_JSON_FAILED', `No page could be read: ${failed.error}`);
    }
    return pages.sort((a, b) => a.child - b.child || a.item - b.item);
  }

  private async join(task: MergeTask, pages: readonly PageFacts[], signal: AbortSignal): Promise<Joined> {
    const { spec } = task.work;
    const told: SourcedValue[] = pages.flatMap(({ value, url, error }) =>
      error !== null || isEmpty(value) ? [] : [{ value, source: url }],
    );
    const given = told.length > 0 ? told : pages.map(({ value, url }) => ({ value, source: url }));
    const merged = await inSlices(mergeSteps(spec.schema, given));
    if (spec.schema !== null || isOneForm(told)) return { ...merged, tokens: 0, warnings: [] };
    return this.reconciled(task, told, merged, signal);
  }

  private async reconciled(
    { team, deadlineMs, work }: MergeTask,
    told: readonly SourcedValue[],
    merged: MergedValue,
    signal: AbortSignal,
  ): Promise<Joined> {
    const model = await this.parts.models.of(team);
    const data = told.map(({ value, source }) => factsBlock(value, source));
    if (!fits(data, model)) {
      return {
        ...merged,
        tokens: 0,
        warnings: ['Without a schema, the facts of so many pages are only put together.'],
      };
    }
    const request = wishOf(work.spec);
    const question = { purpose: 'merge', team, instructions: INSTRUCTIONS, request, data, schema: ANY_OBJECT };
    const answer = await model.ask(question, { deadlineMs, signal });
    const tokens = answer.tokens.prompt + answer.tokens.answer;
    return { value: answer.value, sources: sourcesOf(answer.value, told), tokens, warnings: [] };
  }

  /** A field that no page had is left out, with a warning: nothing is made up to please the schema. */
  private async fitted(schema: JsonSchema, value: unknown): Promise<{ value: unknown; warnings: string[] }> {
    const { value: fitting, problems } = await this.parts.fit(schema, value ?? (isObjectSchema(schema) ? {} : value));
    const shown = problems.slice(0, MAX_PROBLEMS).join('; ');
    return {
      value: fitting,
      warnings: problems.length === 0 ? [] : [`The pages do not tell all that the schema requires: ${shown}.`],
    };
  }
}

function wishOf({ systemPrompt, prompt }: ExtractSpec): string | null {
  return [systemPrompt, prompt].filter((text) => text !== null).join('\n\n') || null;
}

function factsBlock(value: unknown, url: string): DataBlock {
  return { label: 'facts of a page', url, text: JSON.stringify(value) };
}

function fits(data: readonly DataBlock[], model: LanguageModel): boolean {
  let tokens = 0;
  return data.every(({ text }) => (tokens += model.countTokens(text)) <= model.contextTokens);
}

/** Objects with the same fields are merged well without a model. */
function isOneForm(told: readonly SourcedValue[]): boolean {
  const forms = new Set(told.map(({ value }) => formOf(value)));
  return forms.size <= 1;
}

function formOf(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  return typeof value === 'object' && value !== null ? JSON.stringify(Object.keys(value).sort()) : 'fact';
}

/** The result is an object even when the request gave no schema. */
function formless(value: unknown): { value: unknown; warnings: string[] } {
  if (isObject(value)) return { value, warnings: [] };
  return { value: isEmpty(value) ? {} : { answer: value }, warnings: [] };
}

function isObjectSchema({ type, properties }: JsonSchema): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined;
}
