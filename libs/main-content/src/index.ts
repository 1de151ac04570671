export { select, type Selection, tagMask, wholePage } from './selection.js';
export { WordKinds } from './word-kinds.js';
