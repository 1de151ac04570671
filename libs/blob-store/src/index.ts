export * from './blob-store.js';
export * from './fs.store.js';
