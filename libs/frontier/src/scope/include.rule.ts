import type { ScopeRuleFactory } from './rule.js';
import { allowEverything } from './rule.js';
import { compilePatterns, findsOne } from './pattern.js';

/** Rule `include`: when there are patterns, one of them must be found in the path (or the whole URL). */
export const includeRule: ScopeRuleFactory = (scope) => {
  const patterns = compilePatterns('includePaths', scope.includePaths);
  if (patterns.length === 0) return allowEverything;
  return ({ url, pathname, isOutOfTime }) => {
    const found = findsOne(patterns, scope.regexOnFullUrl ? url : pathname, isOutOfTime);
    return found === null ? 'pattern-budget' : found ? null : 'include';
  };
};
