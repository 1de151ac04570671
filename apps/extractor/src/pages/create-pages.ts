import type { TroupeConfig } from '@troupe/config';
import type { Models } from '../models/model.js';
import { checkBySchema } from '../models/schema-check.js';
import { CrawlPlanner } from './crawl-planner.js';
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
