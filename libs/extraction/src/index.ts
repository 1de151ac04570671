export { estimateTokens } from './estimate-tokens.js';
export { isEmpty, isObject, isSame } from './json-value.js';
export { mergeSteps, mergeValues, type MergedValue, type SourcedValue } from './merge-values.js';
export { splitMarkdown, type MarkdownPart } from './split-markdown.js';
