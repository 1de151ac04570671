import { describe, expect, it } from '@jest/globals';
import { parseScrapeId, scrapeIdOf } from './ids.js';

describe('the id of a page of a job', () => {
  it.each([
    ['1', 0],
    ['9223372036854775807', Number.MAX_SAFE_INTEGER],
  ])('of job %s leads back to its page %d', (jobNo, item) => {
    expect(parseScrapeId(scrapeIdOf(jobNo, item))).toEqual({ jobNo, item });
  });

  it.each(['04000000-0000-8000-8000-000000000000', 'ffffffff-ffff-8fff-bfff-ffffffffffff'])(
    '%s is none: no job has a number of more than 63 bits',
    (id) => expect(parseScrapeId(id)).toBeNull(),
  );
});
