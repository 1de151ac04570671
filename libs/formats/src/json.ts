import type { Format } from '@troupe/contracts';
import type { FormatKind, FormatWords } from './format-kind.js';
import { MODEL_PROMPT, type Options } from './rules.js';
import { modelPromptFromV1, modelPromptFromV2, modelPromptToV2 } from './model-prompt.js';

type JsonFormat = Extract<Format, { type: 'json' }>;

const OPTIONS: Options = {
  ...MODEL_PROMPT,
  checkPromptInjection: { is: 'notOffered' },
  selectors: { is: 'selectors' },
  learn: { is: 'flag' },
};
const NO_FACTS = 'Selectors find something in HTML pages only.';

/** Facts of a page: by a model, or by selectors without one (docs/selectors.md). */
export const json: FormatKind<JsonFormat> = {
  name: 'json',
  madeBy: 'model',
  answers: {
    json: { description: 'What the schema or the prompt of the format asked for.' },
    extract: { description: 'The same under the old name of the format, in v1.' },
  },
  needsOptions: true,
  options: OPTIONS,
  optionsFor: (words) => {
    if (words.checkPromptInjection === true) return { checkPromptInjection: { is: 'notOffered' } };
    return hasSelectors(words) ? WITH_SELECTORS : { ...MODEL_PROMPT, learn: learnRule(words) };
  },
  objection: (words) =>
    words.checkPromptInjection !== true && !hasSelectors(words) && isEmptyWish(words)
      ? 'Format json needs a prompt, a schema or selectors'
      : null,
  fills: () => 'json',
  modelPart: (words) =>
    hasSelectors(words) ? null : { what: `Format ${typeof words.key === 'string' ? words.key : 'json'}`, path: [] },
  fromV2: ({ key, ...words }, language) => ({
    type: 'json',
    ...modelPromptFromV2(words),
    selectors: words.selectors === undefined ? null : language.read(words.selectors),
    learn: (words.learn as boolean | undefined) ?? false,
    ...(key === 'extract' ? { key } : {}),
  }),
  toV2: ({ selectors, learn, ...wish }, language) => ({
    type: 'json',
    ...modelPromptToV2(wish),
    ...(selectors === null ? {} : { selectors: language.write(selectors) }),
    ...(learn ? { learn } : {}),
  }),
  v1: {
    names: {
      json: {
        options: 'jsonOptions',
        needsOptions: true,
        toV2: (options) => ({ type: 'json', ...modelPromptFromV1(options) }),
      },
      extract: {
        options: 'extract',
        needsOptions: true,
        toV2: (options) => ({ type: 'json', ...modelPromptFromV1(options), key: 'extract' }),
      },
    },
    shownAs: ({ key }) => key ?? 'json',
    shownBeside: (format) => [format.key ?? 'jsonOptions', modelPromptToV2(format)],
  },
  ofWholePage: true,
  write: (page, { selectors, schema }) => {
    if (selectors === null || page.kind === 'file') return undefined;
    if (page.kind === 'text') page.warn(NO_FACTS);
    return page.facts(selectors, schema);
  },
  isMadeByModel: ({ selectors }) => selectors === null,
  price: { credits: 4, as: 'facts' },
};

const WITH_SELECTORS: Options = {
  selectors: { is: 'selectors' },
  prompt: { is: 'refused', because: 'Selectors answer without a model: a prompt has no use' },
  learn: { is: 'refused', because: 'There is nothing to learn beside selectors' },
  schema: { is: 'jsonSchema', needsModel: false },
};

function learnRule({ learn, schema }: FormatWords): Options[string] {
  return learn === true && schema === undefined
    ? { is: 'refused', because: 'Only a schema can be learned' }
    : { is: 'flag' };
}

function hasSelectors({ selectors }: FormatWords): boolean {
  return selectors !== undefined;
}

function isEmptyWish({ prompt, schema }: FormatWords): boolean {
  return schema === undefined && (prompt === undefined || (typeof prompt === 'string' && prompt.trim() === ''));
}
