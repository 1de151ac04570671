import { type TroupeConfig } from '@troupe/config';
import { type CrawlSpec } from '@troupe/contracts';
import { type Caller } from '../../auth/caller.js';
import { type CrawlDto } from './crawl.dto.js';
import { crawlSpecFromV2 } from './crawl.mapper.js';
import { mayIgnoreRobots, refuseIgnoringRobots } from './offer.js';

/** The crawl that a body asks for. @throws ApiError 403 for what the caller may not have */
export function permittedCrawl(body: CrawlDto, caller: Caller, config: Readonly<TroupeConfig>): CrawlSpec {
  const allowIgnoreRobots = mayIgnoreRobots(caller, config);
  refuseIgnoringRobots(body.ignoreRobotsTxt, allowIgnoreRobots);
  return crawlSpecFromV2(body, { ...config, allowIgnoreRobots, concurrency: caller.concurrency });
}
