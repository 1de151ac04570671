/** `ALLOW_PRIVATE_TARGETS`: which addresses beyond the public ones may be reached, and the check of a URL against it. */
import { TroupeError } from '@troupe/contracts';
import ipaddr from 'ipaddr.js';
import { isPublicAddress, parseAddress } from './address-policy.js';

interface AllowEntry {
  /** A network, or a host name in lower case. */
  target: { cidr: [ipaddr.IPv4 | ipaddr.IPv6, number] } | { host: string };
  /** null = every port. */
  port: number | null;
}

export interface AllowList {
  /** `true` was given: every address is open. */
  everything: boolean;
  entries: AllowEntry[];
  /** Hosts that are refused whatever the list says; asked for every URL and every connection. */
  isBlocked?(host: string): boolean;
}

const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1'];

/**
 * `false` (or nothing), `true`, or a comma list of `host`, `host:port`, `CIDR`, `CIDR:port`; IPv6 with a port is written
 * `[::1]:8080` or `[fd00::/8]:8080`. A host name opens whatever that name resolves to, and nothing by another name.
 * @throws TroupeError BAD_REQUEST naming an entry that is neither
 */
export function parseAllowList(text: string): AllowList {
  const value = text.trim().toLowerCase();
  if (value === '' || value === 'false') return { everything: false, entries: [] };
  if (value === 'true') return { everything: true, entries: [] };
  const parts = value.split(',').map((part) => part.trim());
  return { everything: false, entries: parts.filter((part) => part !== '').map(parseEntry) };
}

function parseEntry(text: string): AllowEntry {
  const { target, port } = splitPort(text);
  const cidr = parseCidr(target);
  if (cidr !== null) return { target: { cidr }, port };
  if (!/^[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/.test(target) || /^[\d.]+$/.test(target)) throw badEntry(text);
  return { target: { host: target }, port };
}

function splitPort(text: string): { target: string; port: number | null } {
  const bracketed = /^\[([^\]]+)\](?::(\d+))?$/.exec(text);
  const plain = text.split(':').length === 2 ? /^([^:]+):(\d+)$/.exec(text) : null;
  const match = bracketed ?? plain;
  if (match === null) return { target: text, port: null };
  const port = match[2] === undefined ? null : Number(match[2]);
  if (port !== null && (port < 1 || port > 65_535)) throw badEntry(text);
  return { target: match[1] ?? '', port };
}

function parseCidr(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] | null {
  const address = parseAddress(text);
  if (address !== null) return [address, address instanceof ipaddr.IPv4 ? 32 : 128];
  return ipaddr.isValidCIDR(text) ? ipaddr.parseCIDR(text) : null;
}

function badEntry(text: string): TroupeError {
  return new TroupeError('BAD_REQUEST', `"${text}" is no host, host:port, CIDR or CIDR:port`);
}

/**
 * May a connection to `ip`:`port` be opened for a URL whose host is `host`? Public addresses always; others only when
 * the list names the address or the host, and the port fits.
 */
export function isAddressAllowed(ip: string, port: number, host: string, allow: AllowList): boolean {
  if (allow.everything || isPublicAddress(ip)) return true;
  const address = parseAddress(ip);
  if (address === null) return false;
  const name = normaliseHost(host);
  return allow.entries.some((entry) => fitsPort(entry, port) && fitsTarget(entry, address, name));
}

function fitsPort(entry: AllowEntry, port: number): boolean {
  return entry.port === null || entry.port === port;
}

function fitsTarget(entry: AllowEntry, address: ipaddr.IPv4 | ipaddr.IPv6, host: string): boolean {
  if ('host' in entry.target) return entry.target.host === host;
  const [network, bits] = entry.target.cidr;
  if (address instanceof ipaddr.IPv4) return network instanceof ipaddr.IPv4 && address.match(network, bits);
  return network instanceof ipaddr.IPv6 && address.match(network, bits);
}

/** Lower case, without brackets and the root's trailing dot. */
export function normaliseHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}

export function isLocalhost(host: string): boolean {
  const name = normaliseHost(host);
  return name === 'localhost' || name.endsWith('.localhost');
}

/** Addresses that are known without a look-up: a literal, or loopback for `localhost`; null for other names. */
export function literalAddresses(host: string): string[] | null {
  if (isLocalhost(host)) return LOOPBACK_ADDRESSES;
  const address = parseAddress(host);
  return address === null ? null : [address.toString()];
}

/** Port a URL leads to, its scheme's default included. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

export function forbiddenTarget(target: string): TroupeError {
  return new TroupeError('SCRAPE_TARGET_FORBIDDEN', `${target} leads to an address that is not allowed`);
}

export function blockedTarget(host: string): TroupeError {
  return new TroupeError('UNSUPPORTED_SITE', `${host} is not fetched by this installation`);
}

/**
 * Refuses, without DNS, what can be refused by the text of a URL: schemes other than http(s), IP literals in every
 * spelling (the URL parser has normalised decimal, hex, octal and short forms) and `localhost`.
 * @throws TroupeError SCRAPE_TARGET_FORBIDDEN, UNSUPPORTED_SITE for a blocked host
 */
export function checkUrlTarget(url: string | URL, allow: AllowList): void {
  const target = parseTarget(url);
  if (allow.isBlocked?.(target.hostname)) throw blockedTarget(target.hostname);
  const addresses = literalAddresses(target.hostname);
  if (addresses === null) return;
  if (addresses.some((ip) => isAddressAllowed(ip, portOf(target), target.hostname, allow))) return;
  throw forbiddenTarget(target.host);
}

function parseTarget(url: string | URL): URL {
  const target = typeof url === 'string' ? URL.parse(url) : url;
  if (target === null) throw new TroupeError('BAD_REQUEST', 'the address cannot be parsed');
  if (target.protocol === 'http:' || target.protocol === 'https:') return target;
  throw new TroupeError('SCRAPE_TARGET_FORBIDDEN', `${target.protocol} addresses are not fetched, only http and https`);
}
