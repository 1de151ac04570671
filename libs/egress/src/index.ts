export * from './address-policy.js';
export * from './allow-list.js';
export * from './blocklist.js';
export * from './connect.js';
export * from './resolver.js';
