/** Selectors against real pages: the value of every labelled page, exactly. */
import { describe, expect, it } from '@jest/globals';
import { pickFacts, readSelectors } from '@troupe/content';
import { bytesOf, families, labelledPages } from './labelled-pages.js';

describe('selectors on labelled pages', () => {
  it('there are forty pages or more, of every family', () => {
    expect(labelledPages.length).toBeGreaterThanOrEqual(40);
    expect(new Set(labelledPages.map(({ family }) => family))).toEqual(new Set(Object.keys(families)));
  });

  it.each(labelledPages)('reads exactly what $page says', (labelled) => {
    const read = readSelectors(families[labelled.family]!.selectors);
    if ('problems' in read) throw new Error(JSON.stringify(read.problems));
    const facts = pickFacts(bytesOf(labelled).toString('utf8'), labelled.url, read.schema);
    expect(facts).toEqual({ value: labelled.expected, warnings: [] });
  });
});
