/** v1 words -> v2 words, with v1's defaults spelled out. */
import { type ReadBody } from '../validation/read-body.js';
import { needsModel } from '../v2/formats.dto.js';
import { type ScrapeDto } from '../v2/scrape.dto.js';
import { formatFromV1, type ScrapeOptionsV1Dto } from './scrape-options.dto.js';
import { type ScrapeV1Dto } from './scrape.dto.js';

const TIMEOUT_MS = { usual: 30_000, withModel: 60_000, withAgent: 300_000 };

export function scrapeFromV1({ body, warnings }: ReadBody<ScrapeV1Dto>): ReadBody<ScrapeDto> {
  return { body: scrapeOptionsFromV1(body), warnings: [...warnings, ...scrapeWarningsOf(body)] };
}

/** Keeps all other fields of the body. */
export function scrapeOptionsFromV1<T extends ScrapeOptionsV1Dto>(body: T) {
  const { formats, jsonOptions, extract, changeTrackingOptions, parsePDF, geolocation, agent, ...same } = body;
  const options = { jsonOptions, extract, changeTrackingOptions };
  const words = (formats ?? ['markdown']).map((name) => formatFromV1(name, options));
  const omittedTimeoutMs = words.some(needsModel) ? TIMEOUT_MS.withModel : TIMEOUT_MS.usual;
  return {
    ...same,
    formats: words,
    parsers: (parsePDF ?? true) ? ['pdf'] : [],
    location: same.location ?? geolocation,
    maxAge: same.maxAge ?? 0,
    skipTlsVerification: same.skipTlsVerification ?? false,
    proxy: same.proxy ?? 'basic',
    timeout: same.timeout ?? (agent === undefined ? omittedTimeoutMs : TIMEOUT_MS.withAgent),
  };
}

export function scrapeWarningsOf(options: ScrapeOptionsV1Dto | undefined): string[] {
  const { agent, jsonOptions, extract } = options ?? {};
  const { temperature, agent: agentOfJson } = jsonOptions ?? extract ?? {};
  const unheard = { agent: agent ?? agentOfJson, temperature };
  return Object.entries(unheard)
    .filter(([, value]) => value !== undefined)
    .map(([name]) => `The option ${name} has no effect.`);
}
