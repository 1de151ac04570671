export * from './model-server.js';
export * from './prompt-reading.js';
export { gullibleBrain } from './gullible-brain.js';
export { readingBrain } from './reading-brain.js';
