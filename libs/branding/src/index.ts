export { brandProfile, type BrandProfile } from './brand-profile.js';
export { collectEvidence, type EvidenceLimits } from './collect-evidence.js';
export type { BrandEvidence } from './evidence.js';
