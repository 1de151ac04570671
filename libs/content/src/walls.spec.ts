import { describe, expect, it } from '@jest/globals';
import * as frontier from '@troupe/frontier';
import { pageFixture } from './page-fixture.js';
import { ORDINARY, WALLS } from './walls.fixture.js';

const { convert } = pageFixture(frontier);

describe('the verdict on bot walls', () => {
  it.each(Object.entries(WALLS))('%s is a challenge, plain and rendered', (_, { html, statusCode }) => {
    for (const rendered of [false, true]) expect(convert(html, { statusCode, rendered }).verdict).toBe('challenge');
  });

  it.each(Object.entries(ORDINARY))('%s is content', (_, { html, statusCode }) => {
    for (const rendered of [false, true]) expect(convert(html, { statusCode, rendered }).verdict).toBe('content');
  });
});
