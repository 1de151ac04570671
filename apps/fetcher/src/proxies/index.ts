export * from './proxied-engine.js';
export * from './proxy-pools.js';
export * from './upstream.js';
export * from './stealth-hosts.js';
