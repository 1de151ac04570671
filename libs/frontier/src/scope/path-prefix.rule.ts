import { isSameHost } from './host.rule.js';
import { allowEverything, type ScopeRuleFactory } from './rule.js';

const FILE_NAME = /\.[a-z][a-z0-9]{0,7}$/i;

/**
 * Rule `path-prefix`: on the start host only what lies under the start URL's path belongs, compared by whole segments
 * (`/docs` holds `/docs/a`, not `/docs-old`). A last segment that looks like a file is cut: `/docs/index.html` means
 * `/docs/`. Off with `entireDomain`.
 */
export const pathPrefixRule: ScopeRuleFactory = (scope, base) => {
  const prefix = pathPrefix(base.pathname);
  if (scope.entireDomain || prefix === '') return allowEverything;
  return (candidate) => {
    if (!isSameHost(candidate, base)) return null;
    return isUnder(candidate.pathname, prefix) ? null : 'path-prefix';
  };
};

/** Without a trailing slash; empty for the whole site. */
export function pathPrefix(pathname: string): string {
  const cut = FILE_NAME.test(pathname) ? pathname.slice(0, pathname.lastIndexOf('/')) : pathname;
  return cut.replace(/\/+$/, '');
}

/** Whether the path is the prefix or lies under it, by whole segments. */
export function isUnder(pathname: string, prefix: string): boolean {
  return pathname.startsWith(prefix) && (pathname.length === prefix.length || pathname[prefix.length] === '/');
}
