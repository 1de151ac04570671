import type { TroupeConfig } from '@troupe/config';
import { compileSchema, normalise } from '@troupe/json-schema';
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
export const checkBySchema: SchemaCheck = (schema, given) => {
  const { value, notes } = normalise(schema, given);
  const problems = compileSchema(schema).problemsOf(value);
  return problems.length === 0 ? { ok: true, value, notes } : { ok: false, problem: problems.join('; ') };
};
