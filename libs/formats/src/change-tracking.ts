import type { FormatKind } from './format-kind.js';
import { MODEL_PROMPT } from './rules.js';
import { inComponents, object } from './schema-parts.js';

const MODES = ['git-diff', 'json'];
const MAX_TAG_CHARS = 200;

/** Comparison with an earlier scrape. The model knows it as `ScrapeSpec.changeTracking`. */
export const changeTracking: FormatKind = {
  name: 'changeTracking',
  madeBy: 'history',
  answers: { changeTracking: inComponents('ChangeTracking') },
  components: {
    ChangeTracking: object(
      {
        previousScrapeAt: { type: ['string', 'null'], format: 'date-time' },
        changeStatus: { type: 'string', enum: ['new', 'same', 'changed', 'removed'] },
        visibility: { type: 'string', enum: ['visible', 'hidden'] },
        'diff?': { type: ['string', 'object'] },
        'json?': {},
      },
      { description: 'How the page differs from its newest earlier scrape.' },
    ),
  },
  options: {
    ...MODEL_PROMPT,
    modes: { is: 'list', of: { is: 'word', of: MODES } },
    tag: { is: 'text', maxLength: MAX_TAG_CHARS },
  },
  requires: 'markdown',
  modelPart: ({ modes }) => {
    const at = Array.isArray(modes) ? modes.indexOf('json') : -1;
    return at < 0 ? null : { what: 'The json mode of changeTracking', path: ['modes', at] };
  },
  fromV2: () => null,
  v1: {
    names: {
      changeTracking: {
        options: 'changeTrackingOptions',
        toV2: (options) => ({ ...options, type: 'changeTracking' }),
      },
    },
  },
  /** Price of the differences that a model names. */
  price: { credits: 4, as: 'facts' },
};
