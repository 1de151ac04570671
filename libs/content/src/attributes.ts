/** The `attributes` format: values of attributes of the elements that selectors find on the whole page. */
import type { AttributeSelector, PageDocument } from '@troupe/contracts';
import { compileSelector, hashName, selectAll, type Tree } from '@troupe/html';

export type AttributeValues = NonNullable<PageDocument['attributes']>;

const MAX_VALUES = 10_000;
/** Length of all values of a page, in UTF-16 units. */
const MAX_CHARS = 5_000_000;

export const ATTRIBUTES_CUT = `The attributes were cut off at ${MAX_VALUES} values of one selector or ${MAX_CHARS} characters in all.`;

/**
 * One entry per pair, in the order asked; values decoded, as written and in document order. Elements without the
 * attribute give none, and an attribute without a value an empty one.
 *
 * @throws TroupeError BAD_REQUEST for a bad selector
 */
export function readAttributes(
  tree: Tree,
  asked: readonly AttributeSelector[],
): { attributes: AttributeValues; isCut: boolean } {
  const found = new Map<string, number[]>();
  let room = MAX_CHARS;
  let isCut = false;
  const attributes = asked.map(({ selector, attribute }) => {
    const nodes = found.get(selector) ?? selectAll(tree, compileSelector(selector));
    found.set(selector, nodes);
    const hash = hashName(attribute.trim().toLowerCase());
    const values: string[] = [];
    for (const node of nodes) {
      const value = tree.attr(node, hash);
      if (value === null) continue;
      if (values.length >= MAX_VALUES || value.length > room) {
        isCut = true;
        break;
      }
      room -= value.length;
      values.push(value);
    }
    return { selector, attribute, values };
  });
  return { attributes, isCut };
}

/** The answer for a body that is no page: nothing is found. */
export function noAttributes(asked: readonly AttributeSelector[]): AttributeValues {
  return asked.map(({ selector, attribute }) => ({ selector, attribute, values: [] }));
}
