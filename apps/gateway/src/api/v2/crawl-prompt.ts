/**
 * A crawl that is asked for in a sentence: a model writes its options, and those of the body win (docs/api/crawl.md).
 */
import { TroupeError, type CrawlSpec, type CrawlWishes } from '@troupe/contracts';
import type { BodyOwner } from '../../auth/body-owner.js';
import { InvalidBodyError } from '../validation/issue.js';
import { type BodyCheck } from '../validation/body-check.js';
import { CrawlDto } from './crawl.dto.js';
import { crawlSpecToV2 } from './crawl.mapper.js';

/** The model's options as fields of a body. @throws TroupeError BAD_REQUEST when a body may not have one of them */
export async function checkedWishes(
  bodies: BodyCheck,
  { url, wishes }: { url: string; wishes: CrawlWishes },
  owner?: BodyOwner,
): Promise<CrawlWishes> {
  try {
    await bodies.read(CrawlDto, { ...wishes, url }, owner);
    return wishes;
  } catch (error) {
    if (!(error instanceof InvalidBodyError)) throw error;
    const problems = error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
    throw new TroupeError('BAD_REQUEST', `The prompt could not be made into valid crawl options: ${problems}`, {
      cause: error,
    });
  }
}

/** Adds the prompt's options to the body. Options of the body win. */
export function underBody(wishes: CrawlWishes, body: CrawlDto): CrawlDto {
  const said = Object.entries(body).filter(([, value]) => value !== undefined);
  return { ...wishes, ...Object.fromEntries(said), url: body.url };
}

/** Fields of the reply to a prompt, beside the crawl's id. */
export function promptEcho(wishes: CrawlWishes, spec: CrawlSpec) {
  const { scrapeOptions: _, ...options } = crawlSpecToV2(spec);
  return { promptGeneratedOptions: wishes, finalCrawlerOptions: options };
}
