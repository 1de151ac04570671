import type { AgentSpec } from '@troupe/contracts';
import type { Rpc } from '@troupe/messaging';
import type { ModelSteps } from '@troupe/persistence';
import type { SearchProvider } from '@troupe/search';
import type { Models } from '../models/model.js';
import { ActHandler } from './act.handler.js';
import type { AgentTool } from './tools/agent-tool.js';
import { ExtractTool } from './tools/extract.tool.js';
import { MapTool } from './tools/map.tool.js';
import { PageVisits } from './tools/page-visit.js';
import { ScrapeTool } from './tools/scrape.tool.js';
import { SearchTool } from './tools/search.tool.js';

export interface AgentParts {
  models: Models;
  steps: ModelSteps;
  calls: Pick<Rpc, 'call'>;
  /** null: none is configured. */
  search: SearchProvider | null;
}

/** The handler of `act` steps, with every tool that this installation has. */
export function createAgent({ models, steps, calls, search }: AgentParts): ActHandler {
  const pages = new PageVisits(calls);
  const reading = [new ScrapeTool(pages), new ExtractTool(pages)];
  const finding = [...(search === null ? [] : [new SearchTool(search)]), new MapTool(calls)];
  return new ActHandler({ models, steps, toolsFor: (spec) => toolsFor(spec, reading, finding) });
}

/**
 * Search engines and site maps ask hosts that the request did not name. An agent that is held to its hosts goes without
 * them.
 */
function toolsFor({ strictUrls }: AgentSpec, reading: AgentTool[], finding: AgentTool[]): AgentTool[] {
  return strictUrls ? reading : [...finding, ...reading];
}
