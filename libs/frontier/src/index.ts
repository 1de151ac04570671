export { MAX_URL_CHARS, canonicalize, parseUrl, whyNotCanonical } from './canonicalize.js';
export { dedupKey, fetchUrl, fingerprint, fingerprintUrl, type IdentityOptions } from './dedup-key.js';
export { FingerprintSet } from './fingerprint-set.js';
export { checkPattern } from './scope/pattern.js';
export { compileScope, type CompiledScope } from './scope/compile-scope.js';
export { pathDepth } from './scope/depth.rule.js';
export { SitemapReader } from './sitemap/sitemap-reader.js';
export type { SitemapItem } from './sitemap/sitemap-syntax.js';
export { hostKey, withoutWww } from './url-parts.js';
