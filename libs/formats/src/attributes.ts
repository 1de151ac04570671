import type { AttributeSelector, Format } from '@troupe/contracts';
import type { FormatInput, FormatKind } from './format-kind.js';
import { listOf, object, text } from './schema-parts.js';

/** Pairs of a selector and an attribute, in all such formats of one request. */
const MAX_ATTRIBUTES = 100;
const MAX_ATTRIBUTE_CHARS = 200;

/** Values of attributes of the elements that selectors find on the whole page. */
export const attributes: FormatKind<Extract<Format, { type: 'attributes' }>> = {
  name: 'attributes',
  madeBy: 'converter',
  answers: { attributes: listOf(object({ selector: text, attribute: text, values: listOf(text) })) },
  needsOptions: true,
  options: {
    selectors: {
      is: 'list',
      maxItems: MAX_ATTRIBUTES,
      required: true,
      of: {
        is: 'object',
        of: {
          selector: { is: 'selector', required: true },
          attribute: { is: 'text', minLength: 1, maxLength: MAX_ATTRIBUTE_CHARS, required: true },
        },
      },
    },
  },
  objectionToAll: (all) =>
    all.flatMap(selectorsOf).length > MAX_ATTRIBUTES
      ? `At most ${MAX_ATTRIBUTES} selectors may be given for attributes`
      : null,
  fromV2: (words) => ({ type: 'attributes', selectors: words.selectors as AttributeSelector[] }),
  toV2: (format) => ({ ...format }),
  /** A document has one such key. */
  merged: (formats) => ({ type: 'attributes', selectors: formats.flatMap(({ selectors }) => selectors) }),
  ofWholePage: true,
  write: (page, { selectors }) => page.attributes(selectors),
};

function selectorsOf(format: FormatInput): unknown {
  return typeof format === 'object' ? format.selectors : [];
}
