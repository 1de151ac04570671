/**
 * Texts that the code of a route cannot provide: its answer, its query, a body to try. Routes that are not listed are
 * described all the same, with an answer of no particular shape.
 */
import { type ANSWER_SCHEMAS } from './answer-schemas.js';

export interface RouteText {
  summary?: string;
  answer: keyof typeof ANSWER_SCHEMAS;
  query?: readonly QueryName[];
  example?: object;
}

export type QueryName = 'skip' | 'limit' | 'after' | 'before';

const URL = 'https://example.com';
const PAGED = ['skip', 'limit'] as const;
/** Lists whose `next` names the last row. */
const LISTED = ['after', 'skip', 'limit'] as const;

export const ROUTE_TEXTS: Record<string, RouteText> = {
  'POST /v2/scrape': { summary: 'One page, now', answer: 'ScrapeAnswer', example: { url: URL, formats: ['markdown'] } },
  'GET /v2/scrape/{id}': { summary: 'The document of an earlier scrape', answer: 'ScrapeAnswer' },
  'POST /v1/scrape': { answer: 'ScrapeAnswer', example: { url: URL, formats: ['markdown'] } },
  'GET /v1/scrape/{id}': { answer: 'ScrapeAnswer' },
  'GET /v2/health/liveness': { summary: 'Whether the process lives', answer: 'Health' },
  'GET /v2/health/readiness': { summary: 'Whether requests would be served', answer: 'Health' },
  'POST /v2/batch/scrape': { summary: 'Many pages, as a job', answer: 'JobStarted', example: { urls: [URL] } },
  'GET /v2/batch/scrape/{id}': { summary: 'Status and documents of a batch', answer: 'JobStatus', query: PAGED },
  'DELETE /v2/batch/scrape/{id}': { summary: 'Cancel a batch', answer: 'JobCancelled' },
  'GET /v2/batch/scrape/{id}/errors': { summary: 'Pages of a batch that failed', answer: 'JobErrors', query: LISTED },
  'POST /v2/crawl': { summary: 'A site, as a job', answer: 'CrawlStarted', example: { url: URL, limit: 10 } },
  'GET /v2/crawl/active': { summary: 'Crawls that run', answer: 'ActiveCrawls', query: LISTED },
  'GET /v2/crawl/ongoing': { summary: 'Crawls that run', answer: 'ActiveCrawls', query: LISTED },
  'GET /v2/crawl/{id}': { summary: 'Status and documents of a crawl', answer: 'JobStatus', query: PAGED },
  'DELETE /v2/crawl/{id}': { summary: 'Cancel a crawl', answer: 'JobCancelled' },
  'GET /v2/crawl/{id}/errors': { summary: 'Pages of a crawl that failed', answer: 'JobErrors', query: LISTED },
  'POST /v2/extract': {
    summary: 'Facts of many pages as one object, as a job',
    answer: 'ExtractStarted',
    example: { urls: [`${URL}/*`], prompt: 'Names of the products' },
  },
  'GET /v2/extract/{id}': { summary: 'Status and result of an extract job', answer: 'ExtractStatus' },
  'DELETE /v2/extract/{id}': { summary: 'Cancel an extract job', answer: 'JobCancelled' },
  'POST /v2/map': { summary: 'The links of a site', answer: 'MapAnswer', example: { url: URL, limit: 100 } },
  'POST /v2/search': { summary: 'Search the web', answer: 'SearchAnswer', example: { query: 'web crawler', limit: 5 } },
  'POST /v2/crawl/explain': {
    summary: 'Which URLs a crawl would fetch, and why not the others',
    answer: 'ExplainAnswer',
    example: { url: URL, urls: [URL] },
  },
  'POST /v2/crawl/{id}/pause': { summary: 'Start no further request of a crawl', answer: 'PauseAnswer' },
  'POST /v2/crawl/{id}/resume': { summary: 'Go on with a paused crawl', answer: 'PauseAnswer' },
  'GET /v2/crawl/{id}/ledger': { summary: 'What became of every URL of a crawl', answer: 'Ledger', query: LISTED },
  'GET /v2/batch/scrape/{id}/ledger': {
    summary: 'What became of every URL of a batch',
    answer: 'Ledger',
    query: LISTED,
  },
  'GET /v2/crawl/{id}/hosts': { summary: 'Hosts of a crawl, worst first, and why', answer: 'JobHosts', query: LISTED },
  'GET /v2/batch/scrape/{id}/hosts': {
    summary: 'Hosts of a batch, worst first, and why',
    answer: 'JobHosts',
    query: LISTED,
  },
  'POST /v1/crawl': { answer: 'JobStarted', example: { url: URL, limit: 10 } },
  'GET /v1/crawl/active': { answer: 'ActiveCrawls', query: LISTED },
  'GET /v1/crawl/ongoing': { answer: 'ActiveCrawls', query: LISTED },
  'GET /v1/crawl/{id}': { answer: 'JobStatus', query: PAGED },
  'DELETE /v1/crawl/{id}': { answer: 'JobCancelled' },
  'GET /v1/crawl/{id}/errors': { answer: 'JobErrors', query: LISTED },
  'DELETE /v1/crawl/{id}/errors': { answer: 'JobErrors', query: LISTED },
  'POST /v1/batch/scrape': { answer: 'JobStarted', example: { urls: [URL] } },
  'GET /v1/batch/scrape/{id}': { answer: 'JobStatus', query: PAGED },
  'DELETE /v1/batch/scrape/{id}': { answer: 'JobCancelled' },
  'GET /v1/batch/scrape/{id}/errors': { answer: 'JobErrors', query: LISTED },
  'DELETE /v1/batch/scrape/{id}/errors': { answer: 'JobErrors', query: LISTED },
  'POST /v1/map': { answer: 'MapAnswerV1', example: { url: URL } },
  'POST /v1/search': { answer: 'SearchAnswerV1', example: { query: 'web crawler', limit: 5 } },
  'POST /v2/crawl/params-preview': {
    summary: 'The crawl options that a sentence asks for',
    answer: 'ParamsPreview',
    example: { url: URL, prompt: 'only blog posts, at most 50' },
  },
  'POST /v1/extract': { answer: 'ExtractStarted', example: { urls: [URL], prompt: 'Names of the products' } },
  'GET /v1/extract/{id}': { answer: 'ExtractStatus' },
  'DELETE /v1/extract/{id}': { answer: 'JobCancelled' },
  'POST /v2/agent': {
    summary: 'An answer that an agent looks for on the web, as a job',
    answer: 'AgentStarted',
    example: { prompt: 'Who founded this company?', urls: [URL] },
  },
  'GET /v2/agent': { summary: 'Runs of agents, newest first', answer: 'AgentRuns', query: ['before'] },
  'GET /v2/agent/{id}': { summary: 'Status and answer of a run', answer: 'AgentStatus' },
  'DELETE /v2/agent/{id}': { summary: 'Cancel a run', answer: 'Success' },
  'GET /v1/team/credit-usage/historical': { answer: 'CreditHistory', query: LISTED },
  'GET /v2/team/credit-usage/historical': { summary: 'Credits used, by month', answer: 'CreditHistory', query: LISTED },
  'GET /v1/team/token-usage/historical': { answer: 'TokenHistory', query: LISTED },
  'GET /v2/team/token-usage/historical': { summary: 'Tokens used, by month', answer: 'TokenHistory', query: LISTED },
  'GET /v1/team/queue-status': { answer: 'QueueStatus' },
  'GET /v2/team/queue-status': { summary: 'Pages of the team that wait and run', answer: 'QueueStatus' },
  'GET /v1/concurrency-check': { answer: 'Concurrency' },
  'GET /v2/concurrency-check': { summary: 'Pages of the team that run', answer: 'Concurrency' },
  'GET /v2/team/credit-usage': { summary: 'Credits that are left', answer: 'CreditUsage' },
  'GET /v2/team/token-usage': { summary: 'Tokens that are left', answer: 'TokenUsage' },
  'GET /v1/team/credit-usage': { answer: 'CreditUsageV1' },
  'GET /v1/team/token-usage': { answer: 'TokenUsageV1' },
  'POST /admin/teams': { summary: 'Make a team', answer: 'TeamAnswer' },
  'GET /admin/teams': { summary: 'All teams', answer: 'Teams', query: LISTED },
  'GET /admin/teams/{id}': { summary: 'A team', answer: 'TeamAnswer' },
  'PATCH /admin/teams/{id}': { summary: 'Change a team', answer: 'TeamAnswer' },
  'POST /admin/teams/{id}/keys': { summary: 'Make a key', answer: 'NewApiKey' },
  'GET /admin/teams/{id}/keys': { summary: 'Keys of a team', answer: 'ApiKeys', query: LISTED },
  'DELETE /admin/teams/{id}/keys/{keyId}': { summary: 'Revoke a key', answer: 'RevokedApiKey' },
  'PUT /admin/teams/{id}/webhook-secret': { summary: 'Set or rotate the webhook secret', answer: 'WebhookSecret' },
  'PUT /admin/teams/{id}/proxies': { summary: 'Replace the proxies of a team', answer: 'ProxiesAnswer' },
  'PUT /admin/teams/{id}/model': { summary: 'Set the language model of a team', answer: 'TeamModelAnswer' },
  'DELETE /admin/teams/{id}/model': {
    summary: "Give a team back to the installation's model",
    answer: 'TeamModelAnswer',
  },
  'GET /admin/hosts': {
    summary: 'Hosts in a `state` (all but open), worst first, and what is set for hosts',
    answer: 'Hosts',
    query: PAGED,
  },
  'GET /admin/hosts/{pattern}': { summary: 'How a host is treated, and what is set for it', answer: 'HostAnswer' },
  'PUT /admin/hosts/{pattern}': {
    summary: 'Set how a host, or everything below *.suffix, is treated',
    answer: 'HostSettingAnswer',
    example: { maxRate: 2, note: 'as agreed' },
  },
  'DELETE /admin/hosts/{pattern}': { summary: 'Forget what was set for a host', answer: 'Success' },
  'POST /admin/hosts/{host}/release': {
    summary: 'Forget what led to a slowdown, a pause or an outage',
    answer: 'Success',
  },
  'GET /admin/usage': { summary: 'Credits, pages and tokens by day and key', answer: 'Usage', query: LISTED },
  'GET /admin/audit': { summary: 'Who changed what', answer: 'Audit', query: LISTED },
  'GET /admin/blocklist': { summary: 'Hosts that are never fetched', answer: 'Blocklist', query: LISTED },
  'PUT /admin/blocklist': { summary: 'Block hosts', answer: 'Blocked' },
  'DELETE /admin/blocklist': { summary: 'Take hosts off the blocklist', answer: 'Unblocked' },
  'GET /admin/dead-letters': { summary: 'Messages that no actor could handle', answer: 'DeadLetters', query: LISTED },
  'POST /admin/dead-letters/{id}/replay': { summary: 'Send a dead letter again', answer: 'Success' },
  'GET /v2/crawl/{id}/deliveries': { summary: 'Webhook deliveries of a crawl', answer: 'Deliveries', query: LISTED },
  'GET /v2/batch/scrape/{id}/deliveries': {
    summary: 'Webhook deliveries of a batch',
    answer: 'Deliveries',
    query: LISTED,
  },
  'POST /v2/crawl/{id}/deliveries/replay': { summary: 'Deliver webhooks of a crawl again', answer: 'ReplayAnswer' },
  'POST /v2/batch/scrape/{id}/deliveries/replay': {
    summary: 'Deliver webhooks of a batch again',
    answer: 'ReplayAnswer',
  },
};

export const WEBHOOK_EVENTS: Record<string, string> = {
  'crawl.started': 'A crawl began',
  'crawl.page': 'A page was scraped: data holds its document',
  'crawl.completed': 'All pages are finished',
  'crawl.failed': 'The crawl failed: error says why',
  'crawl.cancelled': 'The crawl was cancelled; sent only to those who ask for it by name',
  'batch_scrape.started': 'A batch began',
  'batch_scrape.page': 'A page was scraped: data holds its document',
  'batch_scrape.completed': 'All pages are finished',
  'batch_scrape.failed': 'The batch failed: error says why',
  'extract.started': 'An extract job began',
  'extract.completed': 'An extract job is finished: data holds its result',
  'extract.failed': 'The extract job failed: error says why',
  'agent.started': 'A run began',
  'agent.action': 'A step of the run was made: data holds its action, its input and the credits used until then',
  'agent.completed': 'The run is finished: data holds its answer and its credits',
  'agent.failed': 'The run failed: error says why',
  'agent.cancelled': 'The run was cancelled; sent only to those who ask for it by name',
  'batch_scrape.cancelled': 'The batch was cancelled; sent only to those who ask for it by name',
};
