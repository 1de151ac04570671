import type { ScopeRuleFactory } from './rule.js';
import { allowEverything } from './rule.js';
import { compilePatterns } from './pattern.js';

/** Rule `exclude`: any pattern found in the path (or the whole URL) keeps the URL out. */
export const excludeRule: ScopeRuleFactory = (scope) => {
  const patterns = compilePatterns('excludePaths', scope.excludePaths);
  if (patterns.length === 0) return allowEverything;
  return ({ url, pathname }) => {
    const text = scope.regexOnFullUrl ? url : pathname;
    return patterns.some((pattern) => pattern.test(text)) ? 'exclude' : null;
  };
};
