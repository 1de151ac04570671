export { readBranding } from './read-branding.js';
export type { BrandProfile } from './brand-profile.js';
