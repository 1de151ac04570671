import { describe, expect, it } from '@jest/globals';
import * as frontier from '@troupe/frontier';
import { DOCUMENTATION_PAGES } from './documentation.fixture.js';
import { pageFixture } from './page-fixture.js';

const { markdownOf } = pageFixture(frontier);
const mainOf = (html: string): string => markdownOf(html, { onlyMainContent: true });

describe('documentation', () => {
  it.each(DOCUMENTATION_PAGES)(
    'of $name keeps its body to the letter and nothing else',
    ({ head = '', around, body, furniture }) => {
      const whole = markdownOf(`<title>Page</title>${head}${body}`);
      const page = `<!doctype html><title>Page</title>${head}<body>${around.replace('BODY', () => body)}</body>`;
      expect(mainOf(page)).toBe(whole);
      for (const words of furniture) expect(markdownOf(page)).toContain(words);
    },
  );
});
