import { registrableDomain } from '../site-key.js';
import { withoutWww, type UrlParts } from '../url-parts.js';
import type { ScopeRuleFactory } from './rule.js';

/** www and apex are the same host; another port is another host; http and https share one. */
export function isSameHost(a: UrlParts, b: UrlParts): boolean {
  if (a.port !== b.port) return false;
  return a.hostname === b.hostname || withoutWww(a.hostname) === withoutWww(b.hostname);
}

/**
 * Rules `external` and `subdomain`: the start host always belongs; hosts under the same registrable domain (public
 * suffix list, private suffixes like `github.io` included) are subdomains; all others are external. An IP address has
 * no subdomains.
 */
export const hostRule: ScopeRuleFactory = (scope, base) => {
  const domain = registrableDomain(base.hostname);
  return (candidate) => {
    if (isSameHost(candidate, base)) return null;
    if (scope.allowExternalLinks) return null;
    if (domain === null || candidate.port !== base.port || !isUnder(domain, candidate)) return 'external';
    return scope.allowSubdomains ? null : 'subdomain';
  };
};

/** Asks the list only about hosts that end as the domain does. */
function isUnder(domain: string, candidate: UrlParts): boolean {
  return candidate.hostname.endsWith(domain) && registrableDomain(candidate.hostname) === domain;
}
