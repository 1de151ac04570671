import { allowEverything, type ScopeRuleFactory } from './rule.js';

/** An index file stands for its folder: `/docs/index.html` is no deeper than `/docs/`. */
const INDEX_FILE = /^(?:index|default)\.[a-z]{2,5}$/i;

/** Rule `depth`: more hops from the seed than `maxDepth`, or more path segments than `maxPathDepth`. */
export const depthRule: ScopeRuleFactory = ({ maxDepth, maxPathDepth }) => {
  const maxHops = maxDepth ?? Infinity;
  const maxSegments = maxPathDepth ?? Infinity;
  if (maxHops === Infinity && maxSegments === Infinity) return allowEverything;
  return ({ depth, pathname }) =>
    depth > maxHops || (maxSegments < Infinity && pathDepth(pathname) > maxSegments) ? 'depth' : null;
};

/** Segments of a path that name something: empty ones and index files do not count. */
export function pathDepth(pathname: string): number {
  return pathname.split('/').filter((segment) => segment !== '' && !INDEX_FILE.test(segment)).length;
}
