/** Proxies by which pages are fetched: of the installation (`PROXY_BASIC`, `PROXY_STEALTH`) or of a team. */
import type { ProxyClass } from './jobs/scrape-spec.js';

/** `http://`, `https://` or `socks5://` (`socks5h://` means the same), `[user:password@]host[:port]`. */
export const PROXY_URL =
  /^(?:https?|socks5h?):\/\/(?:[^\s:@/]+(?::[^\s:@/]*)?@)?(?:\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)(?::\d{1,5})?\/?$/i;

/** Addresses of each class, with their passwords. An empty list: those of the installation are used. */
export type ProxyLists = Record<ProxyClass, string[]>;

/** An address as it may be shown and logged: without the name and password that it carries. */
export function shownProxy(url: string): string {
  return url.replace(/\/\/[^/]*@/, '//').replace(/\/$/, '');
}
