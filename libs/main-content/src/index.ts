export { select, tagMask, wholePage } from './selection.js';
export { WordKinds } from './word-kinds.js';
