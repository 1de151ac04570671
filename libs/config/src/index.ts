export * from './config.js';
export * from './read-config.js';
