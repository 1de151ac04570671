export { DROP, KEEP, type Mask, PASS } from './mask.js';
export { measure, type Measures } from './measures.js';
export { parseHtml } from './parse.js';
export { isPermalink } from './permalink.js';
export { escapeHtml, imageText, link, listHtml, tableHtml, wrap, type Cell, type ListLine } from './pieces.js';
export { decodeOrdinary } from './references.js';
export {
  checkSelector,
  compileExclude,
  compileScoped,
  compileSelector,
  type KeyedMatcher,
  MAX_SELECTOR_CHARS,
  selectAll,
  type SelectorKey,
} from './selector.js';
export {
  A,
  DOCUMENT,
  F,
  FIRST_CUSTOM_TAG,
  flagsOf,
  FNV_OFFSET,
  FNV_PRIME,
  hashName,
  hashRange,
  lookupTag,
  T,
  tagOf,
  TEXT,
} from './tags.js';
export { FOUND, type OwnTexts, scanText, SIGNS, skipWhite, trimWhite } from './text-scan.js';
export { SearchExhausted, Tree } from './tree.js';
export { instantiate, type Memory, reserve } from './wasm.js';
