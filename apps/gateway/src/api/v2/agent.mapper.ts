/** Runs of agents in the words of the interface <-> the model (docs/api/extract.md, "Agent"). */
import { TroupeError, type AgentSpec, type JobStatus } from '@troupe/contracts';
import { canonicalize } from '@troupe/frontier';
import { type Request } from 'express';
import { ApiError } from '../../errors/api-error.js';
import { type ModelJob } from '../../jobs/model-jobs.service.js';
import { type AgentRun } from '../../jobs/ports.js';
import { customIssue, InvalidBodyError } from '../validation/issue.js';
import { readPageUrl } from '../validation/page-url.js';
import { webhookSpecFrom } from '../webhook/webhook.mapper.js';
import { type AgentDto } from './agent.dto.js';
import { scrapeSpecFromV2, type ScrapeRules } from './scrape.mapper.js';

export interface AgentRules extends ScrapeRules {
  /** Throws for an address that must not be fetched. */
  checkTarget(url: string): void;
}

const TIMEOUT_MS: Record<AgentSpec['effort'], number> = { low: 600_000, medium: 1_200_000, high: 2_400_000 };
/** Model in the list of a run that named none. The installation decides which model answers. */
const UNNAMED_MODEL = 'spark-2';
const CANCELLED = 'The agent run was cancelled';

/** @throws TroupeError NOT_SUPPORTED for conversations, or for an address that must not be fetched */
export function agentSpecFromV2(body: AgentDto, rules: AgentRules): AgentSpec {
  refuseConversation(body);
  const effort = body.effort ?? 'medium';
  const urls = [...new Set((body.urls ?? []).map(startUrl))];
  for (const url of urls) rules.checkTarget(url);
  const { origin, location, zeroDataRetention } = body;
  const formats = ['markdown', 'links'];
  return {
    prompt: body.prompt,
    urls,
    schema: body.schema ?? null,
    strictUrls: body.strictConstrainToURLs ?? false,
    maxCredits: body.maxCredits === undefined ? null : Math.max(1, Math.floor(body.maxCredits)),
    effort,
    scrape: scrapeSpecFromV2({ origin, location, zeroDataRetention, formats }, rules),
    timeoutMs: TIMEOUT_MS[effort],
    webhook: webhookSpecFrom(body.webhook, 'agent'),
    model: body.model ?? null,
  };
}

function refuseConversation({ threadId, exchange, mode }: AgentDto): void {
  const asked = threadId !== undefined ? 'threadId' : exchange !== undefined ? 'exchange' : null;
  if (asked !== null) throw new TroupeError('NOT_SUPPORTED', `${asked} is not supported: every run stands alone`);
  if (mode === 'chat') throw new TroupeError('NOT_SUPPORTED', 'mode "chat" is not supported: every run stands alone');
}

/** The dto has judged the text, so only a URL that grows too long by escaping is left to refuse. */
function startUrl(text: string): string {
  const page = readPageUrl(text);
  const canonical = page.ok ? canonicalize(page.url) : null;
  if (canonical === null) throw new InvalidBodyError([customIssue('Invalid URL', ['urls'])]);
  return canonical;
}

export function agentToV2({ job, result }: ModelJob) {
  const { status, warning } = job;
  const error = status === 'cancelled' ? CANCELLED : job.error;
  return {
    success: status === 'scraping' || status === 'completed',
    status: statusToV2(status),
    ...(result === null ? {} : { data: result.data }),
    ...(error === null ? {} : { error }),
    ...(warning === null ? {} : { warning }),
    expiresAt: job.expiresAt.toISOString(),
    creditsUsed: job.creditsUsed,
  };
}

/** Clients know no word for a cancelled run. */
function statusToV2(status: JobStatus): 'processing' | 'completed' | 'failed' {
  if (status === 'scraping') return 'processing';
  return status === 'completed' ? status : 'failed';
}

/** The cursor of the list. @throws ApiError 400 */
export function readBefore(query: Request['query']): Date {
  const { before } = query;
  if (before === undefined) return new Date(MAX_DATE_MS);
  const ms = typeof before === 'string' && /^\d{1,16}$/.test(before) ? Number(before) : NaN;
  if (!(ms <= MAX_DATE_MS)) throw new ApiError(400, 'Invalid before: expected unix milliseconds', BAD_REQUEST);
  return new Date(ms);
}

/** The year 9999: Postgres and JavaScript both know it. */
const MAX_DATE_MS = 253_402_300_799_999;
const BAD_REQUEST = { code: 'BAD_REQUEST' } as const;

type AskedOptions = Pick<AgentSpec, 'prompt' | 'urls' | 'schema' | 'model' | 'effort'>;

export function agentRunToV2({ job, status, createdAt, originUrl, wireOptions, origin, integration }: AgentRun) {
  const { prompt, urls, schema, model, effort } = wireOptions as AskedOptions;
  return {
    id: job,
    createdAt: createdAt.toISOString(),
    targetHint: originUrl === null ? '' : new URL(originUrl).hostname,
    origin: origin ?? 'api',
    ...(integration === null ? {} : { integration }),
    settings: { hidden: false, starred: false },
    status: statusToV2(status),
    options: {
      prompt,
      ...(urls.length === 0 ? {} : { urls }),
      ...(schema === null ? {} : { schema }),
      model: model ?? UNNAMED_MODEL,
      effort,
    },
  };
}
