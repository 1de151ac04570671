import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { topLevelValue } from './json-value.js';

describe('topLevelValue', () => {
  it('finds the value of any key of any object, and null for others', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (object, other) => {
        const json = Buffer.from(JSON.stringify(object));
        const parsed = JSON.parse(json.toString()) as Record<string, unknown>;
        for (const [key, value] of Object.entries(parsed)) {
          expect(JSON.parse(topLevelValue(json, key)!.toString())).toEqual(value);
        }
        if (!Object.hasOwn(parsed, other)) expect(topLevelValue(json, other)).toBeNull();
      }),
    );
  });
});
