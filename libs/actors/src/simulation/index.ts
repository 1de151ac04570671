export * from './random.js';
export * from './faults.js';
export * from './sim-clock.js';
export * from './sim-store.js';
export * from './sim-bus.js';
