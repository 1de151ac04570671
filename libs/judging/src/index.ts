export { BoundedThread, OverrunError, type ThreadReply } from './bounded-thread.js';
export { judgeLinks } from './links.js';
export { problemsOf } from './values.js';
