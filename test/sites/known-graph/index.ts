export * from './graphs.js';
export * from './oracle.js';
export * from './request-log.js';
export * from './resource.js';
export * from './server.js';
export type { CrawlRules } from './addresses.js';
