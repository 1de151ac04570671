import { type TroupeConfig } from '@troupe/config';
import type { Request } from 'express';

type AddressConfig = Pick<TroupeConfig, 'publicBaseUrl' | 'trustProxy'>;
const SANE_HOST = /^[\w.:[\]-]{1,255}$/;

/**
 * Base of absolute URLs in bodies, without a trailing slash. `PUBLIC_BASE_URL` wins, then a trusted proxy's headers,
 * then the address that the client itself used. Clients follow these addresses with their key, so a wrong host breaks
 * paging.
 */
export function publicBase(request: Pick<Request, 'headers' | 'socket'>, config: AddressConfig): string {
  if (config.publicBaseUrl) return config.publicBaseUrl.replace(/\/+$/, '');
  const forwardedProto = config.trustProxy ? firstOf(request.headers['x-forwarded-proto']) : undefined;
  const forwardedHost = config.trustProxy ? firstOf(request.headers['x-forwarded-host']) : undefined;
  const isTls = (request.socket as { encrypted?: boolean }).encrypted === true;
  const scheme = forwardedProto === 'https' || forwardedProto === 'http' ? forwardedProto : isTls ? 'https' : 'http';
  return `${scheme}://${saneHost(forwardedHost) ?? saneHost(request.headers.host) ?? socketHost(request)}`;
}

function firstOf(header: string | string[] | undefined): string | undefined {
  const text = Array.isArray(header) ? header[0] : header;
  return text?.split(',')[0]?.trim().toLowerCase();
}

function saneHost(host: string | undefined): string | undefined {
  return host !== undefined && SANE_HOST.test(host) ? host : undefined;
}

function socketHost(request: Pick<Request, 'socket'>): string {
  const { localAddress = '127.0.0.1', localPort = 80, localFamily } = request.socket;
  return localFamily === 'IPv6' ? `[${localAddress}]:${localPort}` : `${localAddress}:${localPort}`;
}
