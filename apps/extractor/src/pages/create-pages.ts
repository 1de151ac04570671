import type { TroupeConfig } from '@troupe/config';
import { normalise } from '@troupe/json-schema';
import { problemsOf } from '@troupe/judging';
import type { Models } from '../models/model.js';
import { CrawlPlanner } from './crawl-planner.js';
import type { SchemaCheck } from './json-answer.js';
import { PageModeler, type PageModelerOptions } from './page-modeler.js';

type PageSettings = Pick<TroupeConfig, 'llmRequestTokens'>;

export function createPageModeler(
  models: Models,
  { llmRequestTokens }: PageSettings,
  recipes?: PageModelerOptions['recipes'],
): PageModeler {
  return new PageModeler({ models, check: checkBySchema, requestTokens: llmRequestTokens, recipes });
}

export function createCrawlPlanner(models: Models, { llmRequestTokens }: PageSettings): CrawlPlanner {
  return new CrawlPlanner({ models, requestTokens: llmRequestTokens });
}

/** Values are brought into form first. */
export const checkBySchema: SchemaCheck = async (schema, given) => {
  const { value, notes } = normalise(schema, given);
  const problems = await problemsOf(schema, { value });
  return problems.length === 0 ? { ok: true, value, notes } : { ok: false, problem: problems.join('; ') };
};
