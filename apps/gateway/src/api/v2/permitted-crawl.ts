import { type TroupeConfig } from '@troupe/config';
import { type CrawlSpec } from '@troupe/contracts';
import { type Caller } from '../../auth/caller.js';
import { type CrawlDto } from './crawl.dto.js';
import { crawlSpecFromV2 } from './crawl.mapper.js';
import { mayIgnoreRobots, refuseIgnoringRobots, refuseModelFormats } from './refusals.js';

/**
 * The crawl that a body asks for. @throws ApiError 403 for what the caller may not have, InvalidBodyError for what no
 * caller can have
 */
export function permittedCrawl(body: CrawlDto, caller: Caller, config: Readonly<TroupeConfig>): CrawlSpec {
  refuseModelFormats(body.scrapeOptions?.formats, ['scrapeOptions'], { caller, config });
  const allowIgnoreRobots = mayIgnoreRobots(caller, config);
  refuseIgnoringRobots(body.ignoreRobotsTxt, allowIgnoreRobots);
  return crawlSpecFromV2(body, { ...config, allowIgnoreRobots, concurrency: caller.concurrency });
}
