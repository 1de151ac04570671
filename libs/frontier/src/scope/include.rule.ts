import type { ScopeRuleFactory } from './rule.js';
import { allowEverything } from './rule.js';
import { compilePatterns } from './pattern.js';

/** Rule `include`: when there are patterns, one of them must be found in the path (or the whole URL). */
export const includeRule: ScopeRuleFactory = (scope) => {
  const patterns = compilePatterns('includePaths', scope.includePaths);
  if (patterns.length === 0) return allowEverything;
  return ({ url, pathname }) => {
    const text = scope.regexOnFullUrl ? url : pathname;
    return patterns.some((pattern) => pattern.test(text)) ? null : 'include';
  };
};
