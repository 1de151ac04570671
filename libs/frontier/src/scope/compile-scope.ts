import { TroupeError, type ScopeRule, type ScopeSpec } from '@troupe/contracts';
import { dedupKey } from '../dedup-key.js';
import { originOf, splitUrl, splitUrlOn } from '../url-parts.js';
import { depthRule } from './depth.rule.js';
import { excludeRule } from './exclude.rule.js';
import { fileTypeRule } from './file-type.rule.js';
import { hostRule } from './host.rule.js';
import { includeRule } from './include.rule.js';
import { hasPatterns } from './pattern.js';
import { pathPrefixRule } from './path-prefix.rule.js';
import { allowEverything, type ScopeRuleFactory } from './rule.js';
import { tooLongRule } from './too-long.rule.js';
import { trapRule } from './trap.rule.js';

/** Rules in order: the first one against a URL is the one that is reported. */
const RULES: readonly ScopeRuleFactory[] = [
  tooLongRule,
  hostRule,
  trapRule,
  fileTypeRule,
  pathPrefixRule,
  excludeRule,
  includeRule,
  depthRule,
];

/** Time for matching the links of one page; one of them on one address is let through to its end, some 200 ms. */
export const MATCH_MS = 500;

export interface LinkCheck {
  /** The rule that keeps a canonical URL out, null when it belongs. The start URL always belongs. */
  check(url: string, depth: number): ScopeRule | null;
}

/** Scope of one crawl, compiled once and asked for every link. */
export interface CompiledScope extends LinkCheck {
  /** Check for the links of one page: links that are left when patterns have taken `MATCH_MS` are kept out by `pattern-budget`. */
  ofPage(clock: () => number): LinkCheck;
  /** Whether the URL is the crawl's start page, by the crawl's own notion of duplicates. */
  isStart(url: string): boolean;
}

/** Throws `BAD_REQUEST` with `details.path` when a pattern is not RE2 or the base is no http(s) URL. */
export function compileScope(scope: ScopeSpec): CompiledScope {
  const base = splitUrl(scope.base);
  if (base === null) throw new TroupeError('BAD_REQUEST', 'Invalid URL', { details: { path: ['url'] } });
  const site = originOf(scope.base);
  const checks = RULES.map((rule) => rule(scope, base)).filter((check) => check !== allowEverything);
  const startKey = dedupKey(scope.base, scope);
  const isStart = (url: string): boolean => dedupKey(url, scope) === startKey;
  const checkWithin = (url: string, depth: number, isOutOfTime: () => boolean): ScopeRule | null => {
    const parts = splitUrlOn(site, base, url);
    if (parts === null) return 'scheme';
    const { hostname, port, pathname } = parts;
    const candidate = { hostname, port, pathname, url, depth, isOutOfTime };
    for (const check of checks) {
      const rule = check(candidate);
      // This is asked last: it costs more than the rules, and most URLs are not the start.
      if (rule !== null) return isStart(url) ? null : rule;
    }
    return null;
  };
  const check = (url: string, depth: number): ScopeRule | null => checkWithin(url, depth, never);
  return { isStart, check, ofPage: (clock) => (hasPatterns(scope) ? withinTime(checkWithin, clock) : { check }) };
}

const never = (): boolean => false;

/** Only the time inside the checks counts. */
function withinTime(
  check: (url: string, depth: number, isOutOfTime: () => boolean) => ScopeRule | null,
  clock: () => number,
): LinkCheck {
  let spentMs = 0;
  return {
    check: (url, depth) => {
      const startedAt = clock();
      const rule = check(url, depth, () => spentMs + clock() - startedAt >= MATCH_MS);
      spentMs += clock() - startedAt;
      return rule;
    },
  };
}
