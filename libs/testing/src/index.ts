export { browsersHere } from './browsers.js';
export * from './loopback.js';
export * from './processes.js';
export * from './proxy-server.js';
export type { SeenProfile } from './seen-profile.js';
