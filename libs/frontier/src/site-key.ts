import type { Fingerprint } from '@troupe/contracts';
import { getDomain } from 'tldts';
import { fingerprint } from './dedup-key.js';

/** By the public suffix list, private suffixes like `github.io` included; null for IP addresses and names without a suffix. */
export function registrableDomain(hostname: string): string | null {
  return getDomain(hostname, { allowPrivateDomains: true });
}

/** The part that a URL's host has in common with its subdomains: its registrable domain, else its name. */
export function siteKey(url: string): string {
  const hostname = URL.parse(url)?.hostname ?? url;
  return registrableDomain(hostname) ?? hostname;
}

/** Fingerprint of the `siteKey`. */
export function siteOf(url: string): Fingerprint {
  return fingerprint(siteKey(url));
}
