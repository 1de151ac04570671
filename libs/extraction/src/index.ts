export { isEmpty, isSame } from './json-value.js';
export { mergeValues, type MergedValue, type SourcedValue } from './merge-values.js';
