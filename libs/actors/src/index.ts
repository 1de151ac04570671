export * from './actor.js';
export * from './ports.js';
