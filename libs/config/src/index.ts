export * from './config.js';
export * from './read-config.js';
export { FIRECRAWL_SETTINGS, leftOverSettings, type FirecrawlSetting } from './firecrawl-settings.js';
export { SECRET_SETTINGS, secretsInEnvironment } from './secret-names.js';
