/** Reads the address of a page in a request (docs/api/README.md, "URL validation"). */
import { parseUrl } from '@troupe/frontier';

const SCHEME = /^[a-z][a-z0-9+-]*:\/\//i;
/** `mailto:x@y.example` and `javascript:…` carry a scheme although no `//` follows; `host:8080/…` does not. */
const OPAQUE_SCHEME = /^[a-z][a-z0-9+-]*:(?!\d)/i;
const DOUBLED_SCHEME = /^https?:\/*https?:/i;
const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;
const TOP_LEVEL = /^(?:[a-z]{2,}|xn--[a-z0-9-]+)$/;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/;
export const MAX_URL_CHARS = 2048;

export type PageUrl = { ok: true; url: string } | { ok: false; message: string };

/** The absolute URL behind the caller's text, with `http://` added where no scheme was given; never rewritten otherwise. */
export function readPageUrl(text: string): PageUrl {
  const trimmed = text.trim();
  if (trimmed.length > MAX_URL_CHARS) return { ok: false, message: `URL is longer than ${MAX_URL_CHARS} characters` };
  if (DOUBLED_SCHEME.test(trimmed)) return { ok: false, message: 'Invalid URL: the scheme is doubled' };
  if (!SCHEME.test(trimmed) && OPAQUE_SCHEME.test(trimmed)) return { ok: false, message: 'URL must use http or https' };
  const absolute = SCHEME.test(trimmed) ? trimmed : `http://${trimmed}`;
  const url = parseUrl(absolute);
  if (url === null) return { ok: false, message: 'Invalid URL' };
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { ok: false, message: 'URL must use http or https' };
  if (!isPageHost(url.hostname))
    return { ok: false, message: 'URL must have a valid top-level domain or be a valid path' };
  return { ok: true, url: url.href };
}

/** A dotted name, an address literal, or `localhost` (which the target check judges). */
function isPageHost(hostname: string): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '');
  if (host === 'localhost' || host.endsWith('.localhost') || host.startsWith('[') || IPV4.test(host)) return true;
  const labels = host.split('.');
  return labels.length > 1 && host.length <= 253 && labels.every(isLabel) && TOP_LEVEL.test(labels.at(-1)!);
}

function isLabel(label: string): boolean {
  return label.length <= 63 && LABEL.test(label);
}
