/** Answers of the interface as JSON Schema (spec: formats, errors, and the file of each call). */
import { ERROR_HTTP_STATUS } from '@troupe/contracts';
import { file, FORMATS, mapOf, type FormatKind } from '@troupe/formats';
import { type Schema } from '../validation/fields.js';
import { OPERATION_SCHEMAS } from './operation-schemas.js';
import { address, count, flag, inComponents, listOf, object, success, text, time, uuid } from './schema-parts.js';

export function ref(name: keyof typeof ANSWER_SCHEMAS): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

const jobStatus = { type: 'string', enum: ['scraping', 'completed', 'failed', 'cancelled'] };
const errorCode = { type: 'string', enum: Object.keys(ERROR_HTTP_STATUS) };
const found = { url: address, title: text };
const pathPatterns = listOf({ type: 'string', format: 'regex' });
/** Crawl options that a prompt can set. */
const crawlWishes = {
  'includePaths?': pathPatterns,
  'excludePaths?': pathPatterns,
  'maxDiscoveryDepth?': count,
  'crawlEntireDomain?': flag,
  'allowExternalLinks?': flag,
  'allowSubdomains?': flag,
  'sitemap?': { type: 'string', enum: ['include', 'skip', 'only'] },
  'ignoreQueryParameters?': flag,
  'deduplicateSimilarURLs?': flag,
  'delay?': count,
  'limit?': count,
};
/** Fields of a search's answer beside its results. */
const searchNotes = { 'errors?': listOf(object({ url: address, code: errorCode, error: text })), 'warning?': text };

type Maker = FormatKind['madeBy'];

/** Keys of a document, of the formats that these make. */
function answersOf(...makers: Maker[]): Record<string, Schema> {
  const answers = FORMATS.filter(({ madeBy }) => makers.includes(madeBy)).flatMap((kind) =>
    Object.entries(kind.answers),
  );
  return Object.fromEntries(answers.map(([key, schema]) => [`${key}?`, schema]));
}

function componentsOf(maker: Maker): Record<never, Schema> {
  const kinds = FORMATS.filter(({ madeBy }) => madeBy === maker);
  return Object.assign({}, ...kinds.map(({ components }) => components)) as Record<never, Schema>;
}

/** Fields of a scraped page in a search's answer. */
const scraped = { 'markdown?': text, 'html?': text, 'rawHtml?': text, 'links?': listOf(text) };

export const ANSWER_SCHEMAS = {
  Error: object(
    { success: { type: 'boolean', const: false }, error: text, 'code?': errorCode, 'details?': {} },
    { description: 'Every answer that is no success. With code BAD_REQUEST, details is a list of issues.' },
  ),
  Issue: object(
    { code: text, path: listOf({ type: ['string', 'integer'] }), message: text },
    { description: 'What is wrong with one field of a body.' },
  ),
  Success: object({ success }, { additionalProperties: true }),
  Health: object({ status: text }),
  Metadata: object(
    {
      sourceURL: text,
      'url?': address,
      statusCode: { type: 'integer' },
      scrapeId: uuid,
      proxyUsed: { type: 'string', enum: ['basic', 'stealth'] },
      creditsUsed: count,
      'contentType?': text,
      'error?': text,
      'title?': text,
      'description?': text,
      'language?': text,
      'timezone?': text,
      'numPages?': count,
      'totalPages?': count,
      'contentLoss?': { type: 'number', minimum: 0, maximum: 1 },
      'cacheState?': { type: 'string', enum: ['hit', 'miss'] },
      'cachedAt?': time,
    },
    { additionalProperties: true, description: 'What is known of the page, and every meta element by its name.' },
  ),
  Document: object(
    {
      ...answersOf('converter', 'browser'),
      'actions?': inComponents('ActionResults'),
      ...answersOf('history'),
      ...answersOf('model'),
      'pages?': listOf(object({ pageNumber: { type: 'integer', minimum: 1 }, markdown: text })),
      'warning?': text,
      metadata: inComponents('Metadata'),
    },
    { additionalProperties: true, description: 'A page in the formats that were asked for.' },
  ),
  ...componentsOf('history'),
  ActionResults: object(
    {
      screenshots: listOf(file),
      scrapes: listOf(object({ url: address, html: text })),
      javascriptReturns: listOf(object({ type: text, 'value?': {} })),
      pdfs: listOf(file),
    },
    { description: 'What the actions gave, each kind in the order of the actions. There whenever actions were sent.' },
  ),
  ...componentsOf('browser'),
  ScrapeAnswer: {
    anyOf: [
      object({ success, data: inComponents('Document'), 'warning?': text, 'scrape_id?': uuid }),
      inComponents('Error'),
    ],
    description: 'A host that does not exist is told with status 200 and code SCRAPE_DNS_RESOLUTION_ERROR.',
  },
  JobStarted: object({ success, id: uuid, url: address, 'invalidURLs?': listOf(text), 'warning?': text }),
  CrawlStarted: object(
    {
      success,
      id: uuid,
      url: address,
      'promptGeneratedOptions?': object(crawlWishes),
      'finalCrawlerOptions?': { type: 'object' },
      'warning?': text,
    },
    { description: 'With a prompt: what it was understood as, and the options of the crawl after those of the body.' },
  ),
  ParamsPreview: object({ success, data: object({ url: text, ...crawlWishes }), 'warning?': text }),
  JobStatus: object({
    success,
    status: jobStatus,
    total: count,
    completed: count,
    creditsUsed: count,
    expiresAt: time,
    'paused?': flag,
    'throttled?': listOf(inComponents('ThrottledHost')),
    'createdAt?': time,
    'completedAt?': time,
    'duration?': count,
    'next?': address,
    'error?': text,
    'warning?': text,
    data: listOf(inComponents('Document')),
  }),
  ExtractStarted: object({
    success,
    id: uuid,
    urlTrace: listOf({}),
    'invalidURLs?': listOf(text),
    'warning?': text,
  }),
  ExtractStatus: object(
    {
      success: flag,
      status: { type: 'string', enum: ['processing', 'completed', 'failed', 'cancelled'] },
      data: { type: ['object', 'array'] },
      'error?': text,
      'warning?': text,
      expiresAt: time,
      'sources?': mapOf(listOf(address)),
      tokensUsed: count,
      creditsUsed: count,
    },
    {
      description: 'data is an empty list unless the job is completed. sources: field path -> the pages that told it.',
    },
  ),
  AgentStarted: object({ success, id: uuid, 'warning?': text }),
  AgentStatus: object(
    {
      success: flag,
      status: { type: 'string', enum: ['processing', 'completed', 'failed'] },
      'data?': {},
      'error?': text,
      'warning?': text,
      expiresAt: time,
      creditsUsed: count,
    },
    { description: 'A cancelled run is shown as failed, with an error that says so.' },
  ),
  AgentRuns: object({
    success,
    agents: listOf(
      object({
        id: uuid,
        createdAt: time,
        targetHint: text,
        origin: text,
        'integration?': text,
        settings: object({ hidden: flag, starred: flag }),
        status: { type: 'string', enum: ['processing', 'completed', 'failed'] },
        options: object({
          prompt: text,
          'urls?': listOf(address),
          'schema?': { type: 'object' },
          model: text,
          'effort?': text,
        }),
      }),
    ),
    'next?': address,
  }),
  JobErrors: object({
    'success?': success,
    errors: listOf(object({ id: text, url: text, error: text, 'code?': errorCode, 'timestamp?': time })),
    robotsBlocked: listOf(text),
    'next?': address,
  }),
  JobCancelled: object({ success, status: { type: 'string', const: 'cancelled' } }),
  ActiveCrawls: object({
    success,
    crawls: listOf(object({ id: uuid, teamId: uuid, url: text, created_at: time, options: { type: 'object' } })),
    'next?': address,
  }),
  MapAnswer: object({
    success,
    id: uuid,
    links: listOf(object({ url: address, 'title?': text, 'description?': text })),
    'warning?': text,
  }),
  MapAnswerV1: object({ success, links: listOf(address), 'scrape_id?': uuid, 'warning?': text }),
  SearchAnswer: object({
    success,
    id: uuid,
    creditsUsed: count,
    data: object({
      'web?': listOf(inComponents('WebResult')),
      'news?': listOf(inComponents('NewsResult')),
      'images?': listOf(inComponents('ImageResult')),
    }),
    ...searchNotes,
  }),
  SearchAnswerV1: object({ success, data: listOf(inComponents('WebResult')), ...searchNotes }),
  WebResult: object({
    ...found,
    description: text,
    'position?': count,
    'category?': text,
    ...scraped,
    'metadata?': { type: 'object' },
  }),
  NewsResult: object({
    ...found,
    snippet: text,
    'date?': text,
    'imageUrl?': address,
    position: count,
    'category?': text,
    ...scraped,
    'metadata?': { type: 'object' },
  }),
  ImageResult: object({ ...found, 'imageUrl?': address, 'imageWidth?': count, 'imageHeight?': count, position: count }),
  WebhookEvent: object({
    success: flag,
    type: text,
    id: uuid,
    webhookId: uuid,
    data: listOf({ type: 'object' }),
    metadata: { type: 'object' },
    error: { type: ['string', 'null'] },
  }),
  ...OPERATION_SCHEMAS,
} satisfies Record<string, Schema>;
