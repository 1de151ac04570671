import type { ScopeRule, ScopeSpec } from '@troupe/contracts';
import type { UrlParts } from '../url-parts.js';

/** A canonical URL as the rules see it. */
export interface ScopeCandidate extends UrlParts {
  url: string;
  depth: number;
  /** Asked between patterns: there is no time left for more of them. */
  isOutOfTime(): boolean;
}

/** Names the rule that keeps the URL out, null when this rule has nothing against it. */
export type ScopeCheck = (candidate: ScopeCandidate) => ScopeRule | null;

/** Compiles one rule for one crawl; `base` is the start URL. */
export type ScopeRuleFactory = (scope: ScopeSpec, base: UrlParts) => ScopeCheck;

/** Check of a rule that does not apply to this crawl. */
export const allowEverything: ScopeCheck = () => null;
