/** Step `page/…`: reads the wanted facts of one page. */
import { randomUUID } from 'node:crypto';
import {
  numbersOf,
  type ErrorWire,
  type ExtractSpec,
  type ModelTask,
  type ModelWork,
  type PageModelReply,
  type PageModelRequest,
  type PageTexts,
} from '@troupe/contracts';
import { ModelError } from '../models/model.js';
import { relaxedSchema } from '../pages/relaxed-schema.js';
import type { StepResult, TaskHandler } from '../tasks/task.js';
import type { PageFacts } from './page-facts.js';
import type { StoredPage, StoredPages } from './stored-pages.js';

export type PagesTask = ModelTask & { work: Extract<ModelWork, { what: 'pages' }> };

/** Reads one page with a model. */
export interface PageReader {
  answer(request: PageModelRequest, texts: PageTexts, signal: AbortSignal): Promise<PageModelReply>;
}

export interface PagesParts {
  stored: Pick<StoredPages, 'read'>;
  reader: PageReader;
}

const ONE_OF_MANY =
  'The page is one of several that are read for this. Tell only what this page itself says of it; leave out what it does not ' +
  'say, and tell nothing when it says nothing of it.';

interface Reading {
  facts: PageFacts;
  tokens: number;
}

export class PagesHandler implements TaskHandler<PagesTask['work']> {
  constructor(private readonly parts: PagesParts) {}

  /** @throws TroupeError, retryable, when the model is busy or away: a page that cannot be read at all is recorded as such */
  async run(task: PagesTask, signal: AbortSignal): Promise<StepResult> {
    const readings: Reading[] = [];
    for (const ord of numbersOf([task.work.ords])) readings.push(await this.readPage(task, ord, signal));
    const facts = readings.map((reading) => reading.facts);
    const warning = facts.flatMap(({ error, notes }) => error ?? notes).join(' ') || null;
    const tokens = readings.reduce((sum, reading) => sum + reading.tokens, 0);
    return { outcome: { what: 'read', warning }, value: facts, tokens, credits: 0 };
  }

  private async readPage(task: PagesTask, ord: number, signal: AbortSignal): Promise<Reading> {
    const { child, childNo } = task.work;
    const page = await this.parts.stored.read(childNo, ord);
    if (page === null) {
      const error = 'A page is no longer stored, or too long to be read.';
      return { facts: { child, item: ord, url: '', value: null, notes: [], error }, tokens: 0 };
    }
    const { item, url } = page;
    const silent: PageFacts = { child, item, url, value: null, notes: [], error: null };
    if (page.statusCode >= 400) {
      return { facts: { ...silent, error: `${url} answered with status ${page.statusCode}.` }, tokens: 0 };
    }
    if (page.markdown.trim() === '') return { facts: silent, tokens: 0 };
    const reply = await this.parts.reader.answer(requestFor(task, page), { markdown: page.markdown }, signal);
    return readingOf(reply, silent);
  }
}

function requestFor({ team, deadlineMs, work: { spec } }: PagesTask, page: StoredPage): PageModelRequest {
  const { url, title } = page;
  const schema = spec.schema === null ? null : relaxedSchema(spec.schema);
  return {
    id: randomUUID(),
    team,
    url,
    title,
    formats: [{ type: 'json', prompt: wishOf(spec), schema, selectors: null, learn: false }],
    changes: null,
    deadlineMs,
    zeroRetention: spec.scrape.zeroRetention,
  };
}

function wishOf({ systemPrompt, prompt }: ExtractSpec): string {
  return [systemPrompt, prompt, ONE_OF_MANY].filter((text) => text !== null).join('\n\n');
}

/** @throws TroupeError for a failure that the next try may not meet */
function readingOf(reply: PageModelReply, silent: PageFacts): Reading {
  if (!reply.ok) return { facts: failed(silent, reply.error, 0), tokens: 0 };
  const failure = reply.failures.find(({ what }) => what === 'json');
  if (failure !== undefined) return { facts: failed(silent, failure.error, reply.tokens), tokens: reply.tokens };
  return { facts: { ...silent, value: reply.parts.json ?? null, notes: reply.warnings }, tokens: reply.tokens };
}

function failed(silent: PageFacts, { code, message, retryable }: ErrorWire, tokens: number): PageFacts {
  if (retryable) throw new ModelError(code, message, { retryable, tokens: { prompt: tokens, answer: 0 } });
  return { ...silent, error: `${silent.url} could not be read: ${message}` };
}
