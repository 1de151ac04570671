import { allowEverything, type ScopeRuleFactory } from './rule.js';

/** Rule `depth`: more hops from the seed than `maxDepth`. */
export const depthRule: ScopeRuleFactory = ({ maxDepth }) => {
  if (maxDepth === null) return allowEverything;
  return ({ depth }) => (depth > maxDepth ? 'depth' : null);
};
