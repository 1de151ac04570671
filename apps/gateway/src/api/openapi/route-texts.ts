/**
 * What the code of a route cannot say of itself: its answer, its query, a body to try. Routes that are not listed are
 * described all the same, with an answer of no particular shape.
 */
import { type ANSWER_SCHEMAS } from './answer-schemas.js';

export interface RouteText {
  summary?: string;
  answer: keyof typeof ANSWER_SCHEMAS;
  query?: readonly QueryName[];
  example?: object;
}

export type QueryName = 'skip' | 'limit';

const URL = 'https://example.com';
const PAGED = ['skip', 'limit'] as const;

export const ROUTE_TEXTS: Record<string, RouteText> = {
  'POST /v2/scrape': { summary: 'One page, now', answer: 'ScrapeAnswer', example: { url: URL, formats: ['markdown'] } },
  'GET /v2/scrape/{id}': { summary: 'The document of an earlier scrape', answer: 'ScrapeAnswer' },
  'POST /v2/batch/scrape': { summary: 'Many pages, as a job', answer: 'JobStarted', example: { urls: [URL] } },
  'GET /v2/batch/scrape/{id}': { summary: 'Status and documents of a batch', answer: 'JobStatus', query: PAGED },
  'DELETE /v2/batch/scrape/{id}': { summary: 'Cancel a batch', answer: 'JobCancelled' },
  'GET /v2/batch/scrape/{id}/errors': { summary: 'Pages of a batch that failed', answer: 'JobErrors' },
  'POST /v2/crawl': { summary: 'A site, as a job', answer: 'JobStarted', example: { url: URL, limit: 10 } },
  'GET /v2/crawl/active': { summary: 'Crawls that run', answer: 'ActiveCrawls' },
  'GET /v2/crawl/ongoing': { summary: 'Crawls that run', answer: 'ActiveCrawls' },
  'GET /v2/crawl/{id}': { summary: 'Status and documents of a crawl', answer: 'JobStatus', query: PAGED },
  'DELETE /v2/crawl/{id}': { summary: 'Cancel a crawl', answer: 'JobCancelled' },
  'GET /v2/crawl/{id}/errors': { summary: 'Pages of a crawl that failed', answer: 'JobErrors' },
  'POST /v2/map': { summary: 'The links of a site', answer: 'MapAnswer', example: { url: URL, limit: 100 } },
  'POST /v2/search': { summary: 'Search the web', answer: 'SearchAnswer', example: { query: 'web crawler', limit: 5 } },
  'POST /v2/crawl/{id}/pause': { summary: 'Start no further request of a crawl', answer: 'Success' },
  'POST /v2/crawl/{id}/resume': { summary: 'Go on with a paused crawl', answer: 'Success' },
  'POST /v2/crawl/explain': {
    summary: 'Which URLs a crawl would fetch, and why not the others',
    answer: 'Success',
    example: { url: URL, urls: [URL] },
  },
  'GET /v2/crawl/{id}/ledger': { summary: 'What became of every URL of a crawl', answer: 'Success', query: PAGED },
  'GET /v2/batch/scrape/{id}/ledger': {
    summary: 'What became of every URL of a batch',
    answer: 'Success',
    query: PAGED,
  },
  'POST /v1/search': { answer: 'SearchAnswerV1', example: { query: 'web crawler', limit: 5 } },
  'POST /v1/scrape': { answer: 'ScrapeAnswer', example: { url: URL, formats: ['markdown'] } },
  'GET /v1/scrape/{id}': { answer: 'ScrapeAnswer' },
  'POST /v1/batch/scrape': { answer: 'JobStarted', example: { urls: [URL] } },
  'GET /v1/batch/scrape/{id}': { answer: 'JobStatus', query: PAGED },
  'DELETE /v1/batch/scrape/{id}': { answer: 'JobCancelled' },
  'GET /v1/batch/scrape/{id}/errors': { answer: 'JobErrors' },
  'DELETE /v1/batch/scrape/{id}/errors': { answer: 'JobErrors' },
  'POST /v1/crawl': { answer: 'JobStarted', example: { url: URL, limit: 10 } },
  'GET /v1/crawl/active': { answer: 'ActiveCrawls' },
  'GET /v1/crawl/ongoing': { answer: 'ActiveCrawls' },
  'GET /v1/crawl/{id}': { answer: 'JobStatus', query: PAGED },
  'DELETE /v1/crawl/{id}': { answer: 'JobCancelled' },
  'GET /v1/crawl/{id}/errors': { answer: 'JobErrors' },
  'DELETE /v1/crawl/{id}/errors': { answer: 'JobErrors' },
  'POST /v1/map': { answer: 'MapAnswerV1', example: { url: URL } },
  'GET /v2/health/liveness': { summary: 'Whether the process lives', answer: 'Health' },
  'GET /v2/health/readiness': { summary: 'Whether requests would be served', answer: 'Health' },
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
  'batch_scrape.cancelled': 'The batch was cancelled; sent only to those who ask for it by name',
};
