/** Crawl options out of a sentence (docs/api/crawl.md, `prompt` and params-preview). */
import { errorToWire, TroupeError, type CrawlOptionsReply, type CrawlOptionsRequest } from '@troupe/contracts';
import type { Models } from '../models/model.js';
import { judgeWishes, WISHES_SCHEMA, type JudgedWishes } from './crawl-wishes.js';
import { CRAWL_OF_SENTENCE } from './instructions.js';
import { PageCalls } from './page-calls.js';

export interface CrawlPlannerOptions {
  models: Models;
  requestTokens: number;
}

const NOTHING_ASKED = 'The prompt names nothing that a crawl option stands for.';

export class CrawlPlanner {
  constructor(private readonly options: CrawlPlannerOptions) {}

  /** Rejects only with the signal's reason. */
  async plan(request: CrawlOptionsRequest, signal: AbortSignal): Promise<CrawlOptionsReply> {
    const endsAtMs = performance.now() + request.deadlineMs;
    try {
      const model = await this.options.models.of(request.team);
      const budgetTokens = this.options.requestTokens;
      const calls = new PageCalls({ model, team: request.team, budgetTokens, endsAtMs, signal });
      const wishes = await wishesOf(request, calls);
      const warning = Object.keys(wishes).length === 0 ? { warning: NOTHING_ASKED } : {};
      return { ok: true, wishes, tokens: calls.used, ...warning };
    } catch (error) {
      signal.throwIfAborted();
      return { ok: false, error: errorToWire(error) };
    }
  }
}

/** Asks a second time with the problems of the first answer. */
async function wishesOf({ url, prompt }: CrawlOptionsRequest, calls: PageCalls) {
  const ask = async (instructions: string): Promise<JudgedWishes> => {
    const data = [{ label: 'start address', url: null, text: url }];
    const question = { purpose: 'crawl', instructions, request: prompt, data, schema: WISHES_SCHEMA };
    return judgeWishes(await calls.ask(question), url);
  };
  const first = await ask(CRAWL_OF_SENTENCE);
  if (first.wishes !== null) return first.wishes;
  const second = await ask(`${CRAWL_OF_SENTENCE}\n\nAn earlier answer could not be used:\n${first.problem}`);
  if (second.wishes !== null) return second.wishes;
  throw new TroupeError('BAD_REQUEST', `The prompt could not be turned into crawl options: ${second.problem}`);
}
