export * from './ad-filter.js';
export * from './page-boxes.js';
