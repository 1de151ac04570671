export { judgeLinks } from './links.js';
export { problemsOf } from './values.js';
