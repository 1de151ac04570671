export * from './actor.js';
export * from './ports.js';
export * from './clock.js';
export * from './partition.js';
export * from './runtime.js';
export { HEARTBEAT, HEARTBEAT_MS } from './turn.js';
export * from './simulation/index.js';
