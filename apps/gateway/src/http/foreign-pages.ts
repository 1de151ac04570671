/**
 * Keeps web pages away from a gateway that asks for no key (`AUTH_MODE=none`, ADR 0041).
 *
 * Any page in a browser on this machine reaches the loopback, so the browser's own headers tell callers apart. `Origin`
 * names the page that asks. `Host` is the name it used; the owner of a foreign domain may have pointed that name here
 * (DNS rebinding). Programs send no `Origin`. Where keys are asked for, a page needs one like any caller.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { type TroupeConfig } from '@troupe/config';
import { parseUrl } from '@troupe/frontier';

export type PageRules = Pick<TroupeConfig, 'authMode' | 'host' | 'publicBaseUrl'>;

/** Reason of a refusal, for the caller to read; null: the request is allowed. */
export function foreignPage({ headers }: Pick<IncomingMessage, 'headers'>, rules: PageRules): string | null {
  if (rules.authMode !== 'none') return null;
  const { host, origin } = headers;
  if (host !== undefined && !isOwnHost(host, rules)) {
    return `This gateway asks for no key, so it answers to its own names only, not to ${quoted(host)}: set PUBLIC_BASE_URL to the address it shall have, or AUTH_MODE=keys`;
  }
  if (origin === undefined || isOwnOrigin(origin, host, rules)) return null;
  return `This gateway asks for no key, so it answers no web pages but its own, not those of ${quoted(origin)}: with AUTH_MODE=keys, pages of any origin may use a key`;
}

/** A name without a dot belongs to this machine or network. No site outside can have such a name, nor an address. */
function isOwnHost(host: string, { host: listening, publicBaseUrl }: PageRules): boolean {
  const name = nameOf(host);
  if (name === null) return false;
  const isLocal = !name.includes('.') || name.endsWith('.localhost');
  return isLocal || isAddress(name) || name === nameOf(listening) || name === hostOf(publicBaseUrl);
}

function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0;
}

/** `localhost:3002` -> `localhost`, null for what is no host. */
function nameOf(host: string): string | null {
  const url = parseUrl(`http://${isIP(host) === 6 ? `[${host}]` : host}/`);
  const isHost = url !== null && url.pathname === '/' && url.username === '' && url.search === '' && url.hash === '';
  return isHost ? url.hostname.replace(/\.$/, '') : null;
}

function hostOf(address: string | undefined): string | undefined {
  return address === undefined ? undefined : parseUrl(address)?.hostname;
}

function isOwnOrigin(origin: string, host: string | undefined, { publicBaseUrl }: PageRules): boolean {
  if (publicBaseUrl !== undefined && origin === parseUrl(publicBaseUrl)?.origin) return true;
  if (host === undefined) return false;
  return ['http:', 'https:'].some((scheme) => origin === parseUrl(`${scheme}//${host}`)?.origin);
}

const MAX_QUOTED_CHARS = 200;

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, MAX_QUOTED_CHARS));
}
