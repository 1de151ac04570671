/**
 * Step `plan`: decides which pages an extract job reads. The decision is recorded before the first job is started, so a
 * step that is repeated starts the same jobs, and each of them once.
 */
import {
  isTroupeError,
  TroupeError,
  type ChildJob,
  type ExtractSpec,
  type ModelTask,
  type ModelWork,
  type Uuid,
} from '@troupe/contracts';
import { canonicalize } from '@troupe/frontier';
import type { ModelSteps, NewChild } from '@troupe/persistence';
import type { StepResult, TaskHandler } from '../tasks/task.js';
import { childOrder, distinctPages, entriesOf, type ChildPlan, type PagePlan } from './page-plan.js';
import type { PageProposals } from './page-proposals.js';
import { mostRelevant } from './rank.js';
import type { SiteFinder } from './site-finder.js';

export type PlanTask = ModelTask & { work: Extract<ModelWork, { what: 'plan' }> };

/** Starts the jobs that fetch pages for another. */
export interface Children {
  /** Starts the nth child of its parent. Once started it is the same at every call, whatever the order says. */
  start(child: NewChild): Promise<ChildJob>;
}

export interface PlanParts {
  steps: Pick<ModelSteps, 'find' | 'record'>;
  sites: Pick<SiteFinder, 'pagesBelow'>;
  proposals: Pick<PageProposals, 'find'>;
  children: Children;
  /** Pages that one job reads at most. */
  maxPages: number;
}

/** Key of the decision among the job's steps. */
const DECIDED = 'plan/pages';
/** With links followed outside: pages read for one address, itself included. */
const LINKED_PAGES = 25;
const LINKED_DEPTH = 1;

interface Decision {
  plan: PagePlan;
  tokens: number;
}

export class PlanHandler implements TaskHandler<PlanTask['work']> {
  constructor(private readonly parts: PlanParts) {}

  /** @throws TroupeError when there is no page to read */
  async run(task: PlanTask, signal: AbortSignal): Promise<StepResult> {
    const { plan, tokens } = await this.decided(task, signal);
    const { spec } = task.work;
    const { actor, team, keyId } = task;
    const children: ChildJob[] = [];
    for (const [nth, child] of plan.children.entries())
      children.push(
        await this.parts.children.start({ parent: actor, nth, team, keyId, ...childOrder(child, spec, actor) }),
      );
    const warning = [...(spec.warning === null ? [] : [spec.warning]), ...plan.warnings].join(' ') || null;
    return { outcome: { what: 'planned', children, warning }, value: plan, tokens, credits: 0 };
  }

  private async decided(task: PlanTask, signal: AbortSignal): Promise<Decision> {
    const known = await this.parts.steps.find(task.jobNo, DECIDED);
    if (known !== null) return { plan: known.result as PagePlan, tokens: known.tokens };
    const { plan, tokens } = await this.decide(task, signal);
    if (plan.children.length === 0) throw noPages(task.work.spec);
    const kept = await this.parts.steps.record(task.jobNo, { step: DECIDED, tokens, credits: 0, result: plan });
    return { plan: kept.result as PagePlan, tokens: kept.tokens };
  }

  private async decide(task: PlanTask, signal: AbortSignal): Promise<Decision> {
    const { spec } = task.work;
    if (spec.urls.length > 0) return { plan: await this.planOf(task, signal), tokens: 0 };
    const { urls, tokens, warning } = await this.parts.proposals.find(task, spec, signal);
    const children = this.listed(urls.slice(0, this.parts.maxPages), spec);
    return { plan: { children, warnings: warning === null ? [] : [warning] }, tokens };
  }

  private async planOf({ team, work: { spec } }: PlanTask, signal: AbortSignal): Promise<PagePlan> {
    const { maxPages } = this.parts;
    const { pages, sites } = entriesOf(spec);
    const warnings: string[] = [];
    const named = distinctPages(pages);
    const listed = named.slice(0, maxPages);
    if (listed.length < named.length) warnings.push(`Only the first ${maxPages} URLs were read.`);
    const children = this.listed(listed, spec);
    const room = Math.floor((maxPages - listed.length) / Math.max(1, sites.length));
    if (sites.length > 0 && room < (spec.limit ?? 0)) warnings.push(`At most ${room} pages were read for a wildcard.`);
    const limit = Math.min(spec.limit ?? room, room);
    for (const site of limit === 0 ? [] : sites) children.push(await this.site(site, { team, spec, limit }, signal));
    return { children, warnings };
  }

  /** Pages that are known; with links followed outside, each with what it links to. */
  private listed(urls: string[], { allowExternalLinks }: ExtractSpec): ChildPlan[] {
    if (urls.length === 0) return [];
    if (!allowExternalLinks) return [{ kind: 'batch', urls }];
    const limit = Math.max(1, Math.min(LINKED_PAGES, Math.floor(this.parts.maxPages / urls.length)));
    return urls.map((url) => ({ kind: 'crawl', url: canonicalize(url) ?? url, limit, maxDepth: LINKED_DEPTH }));
  }

  /** The best pages when more are known than may be read; else a crawl, which may find what no map knows. */
  private async site(
    site: string,
    { team, spec, limit }: { team: Uuid; spec: ExtractSpec; limit: number },
    signal: AbortSignal,
  ): Promise<ChildPlan> {
    const url = canonicalize(site) ?? site;
    const links = await this.parts.sites.pagesBelow(url, team, spec, signal).catch((error: unknown) => {
      // The crawl will report why the site cannot be read.
      if (isTroupeError(error)) return [];
      throw error;
    });
    if (links.length <= limit) return { kind: 'crawl', url, limit, maxDepth: null };
    const best = await mostRelevant(links, questionOf(spec), limit);
    return { kind: 'batch', urls: best.map((link) => link.url) };
  }
}

/** All words of the request. */
function questionOf({ prompt, schema }: ExtractSpec): string {
  return [prompt ?? '', ...schemaWords(schema, 0)].join(' ');
}

const MAX_SCHEMA_DEPTH = 8;

/** Names and descriptions of the fields. */
function schemaWords(schema: unknown, depth: number): string[] {
  if (typeof schema !== 'object' || schema === null || depth > MAX_SCHEMA_DEPTH) return [];
  const { title, description, properties, ...others } = schema as Record<string, unknown>;
  const fields = typeof properties === 'object' && properties !== null ? properties : {};
  return [
    ...[title, description].filter((text) => typeof text === 'string'),
    ...Object.keys(fields),
    ...[...Object.values(fields), ...Object.values(others)].flatMap((inner) => schemaWords(inner, depth + 1)),
  ];
}

function noPages({ urls }: ExtractSpec): TroupeError {
  const message =
    urls.length === 0
      ? 'No pages were found for the prompt: name URLs to read'
      : 'No page may be read: EXTRACT_MAX_PAGES leaves no room for the wildcards';
  return new TroupeError('SCRAPE_JSON_FAILED', message);
}
