import type { ScopeRuleFactory } from './rule.js';
import { allowEverything } from './rule.js';
import { compilePatterns, findsOne } from './pattern.js';

/** Rule `exclude`: any pattern found in the path (or the whole URL) keeps the URL out. */
export const excludeRule: ScopeRuleFactory = (scope) => {
  const patterns = compilePatterns('excludePaths', scope.excludePaths);
  if (patterns.length === 0) return allowEverything;
  return ({ url, pathname, isOutOfTime }) => {
    const found = findsOne(patterns, scope.regexOnFullUrl ? url : pathname, isOutOfTime);
    return found === null ? 'pattern-budget' : found ? 'exclude' : null;
  };
};
