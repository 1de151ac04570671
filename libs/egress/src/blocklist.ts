/** Hosts that are never fetched, for any team. Pure. */
import { normaliseHost } from './allow-list.js';

/**
 * An entry as it is stored and matched: lower case, punycode, no port. Takes a host name, an IP literal or the address
 * of a page. null when the text names no host.
 */
export function blockEntry(text: string): string | null {
  const trimmed = text.trim();
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `http://${bracketed(trimmed)}`;
  const url = URL.parse(address);
  if (url === null || url.hostname === '' || url.username !== '' || /[\s*]/.test(trimmed)) return null;
  return normaliseHost(url.hostname);
}

function bracketed(host: string): string {
  return /^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(host) ? `[${host}]` : host;
}

/** Whether a host, or a domain it lies in, is on the list. */
export function isBlockedHost(host: string, blocked: ReadonlySet<string>): boolean {
  if (blocked.size === 0) return false;
  const name = normaliseHost(host);
  for (let at = 0; at !== -1;) {
    if (blocked.has(name.slice(at))) return true;
    const dot = name.indexOf('.', at);
    at = dot === -1 ? -1 : dot + 1;
  }
  return false;
}
