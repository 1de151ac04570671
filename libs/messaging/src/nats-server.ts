/** How a process gets to the NATS server: addresses, credentials, TLS. Field names are those of the settings. */
import { credsAuthenticator, nkeyAuthenticator } from '@nats-io/nats-core';
import type { ConnectionOptions } from '@nats-io/transport-node';
import { TroupeError } from '@troupe/contracts';
import { readFileSync } from 'node:fs';

export interface NatsServerSettings {
  /** One address or several, separated by commas; `tls://` insists on TLS. May carry `user:password@` or `token@`. */
  natsUrl: string;
  /** JWT and seed of a user, as `nsc` writes them. */
  natsCredsFile?: string;
  /** Seed of an nkey. */
  natsNkeyFile?: string;
  /** Authority that signed the server's certificate. @default the authorities that Node knows */
  natsTlsCaFile?: string;
  /** Our own certificate and its key, for servers that verify their clients. */
  natsTlsCertFile?: string;
  natsTlsKeyFile?: string;
  /** Copies of streams and buckets; 0 = three on a cluster of servers, else one. @default 0 */
  natsReplicas?: number;
}

/** Thrown when a file that the settings name cannot be used; says which. */
export class NatsAccessError extends TroupeError {
  constructor(message: string, cause?: unknown) {
    super('UNKNOWN_ERROR', message, { cause });
    this.name = 'NatsAccessError';
  }
}

type Access = Pick<ConnectionOptions, 'servers' | 'user' | 'pass' | 'token' | 'authenticator' | 'tls'>;

/** @throws NatsAccessError naming the setting whose file cannot be read */
export function accessOf(settings: NatsServerSettings): Access {
  const tls = tlsOf(settings);
  return { ...addressesOf(settings.natsUrl), ...credentialsOf(settings), ...(tls === undefined ? {} : { tls }) };
}

/** Addresses as they may be shown: without credentials. */
export function addressesShown(natsUrl: string): string {
  return urlsOf(natsUrl)
    .map(({ host }) => host)
    .join(', ');
}

function urlsOf(natsUrl: string): URL[] {
  return natsUrl
    .split(',')
    .map((server) => new URL(server.includes('://') ? server.trim() : `nats://${server.trim()}`));
}

/** The client takes credentials apart from addresses. */
function addressesOf(natsUrl: string): Pick<Access, 'servers' | 'user' | 'pass' | 'token'> {
  const urls = urlsOf(natsUrl);
  const servers = urls.map(({ host }) => host);
  const { username, password } = urls.find((server) => server.username !== '') ?? urls[0]!;
  if (username === '') return { servers };
  const user = decodeURIComponent(username);
  return password === '' ? { servers, token: user } : { servers, user, pass: decodeURIComponent(password) };
}

function credentialsOf({ natsCredsFile, natsNkeyFile }: NatsServerSettings): Pick<Access, 'authenticator'> {
  if (natsCredsFile !== undefined) {
    const creds = following('NATS_CREDS_FILE', natsCredsFile);
    if (!/BEGIN NATS USER JWT/.test(creds().toString()))
      throw new NatsAccessError(`NATS_CREDS_FILE: ${natsCredsFile} holds no user's JWT and seed as nsc writes them`);
    return { authenticator: credsAuthenticator(creds) };
  }
  if (natsNkeyFile === undefined) return {};
  const seed = following('NATS_NKEY_FILE', natsNkeyFile);
  const trimmed = () => Buffer.from(seed().toString().trim());
  if (!/^SU[A-Z2-7]{56}$/.test(trimmed().toString()))
    throw new NatsAccessError(`NATS_NKEY_FILE: ${natsNkeyFile} holds no seed of a user (SU…)`);
  return { authenticator: nkeyAuthenticator(trimmed) };
}

function tlsOf(settings: NatsServerSettings): Access['tls'] | undefined {
  const { natsTlsCaFile: caFile, natsTlsCertFile: certFile, natsTlsKeyFile: keyFile, natsUrl } = settings;
  for (const [setting, file] of Object.entries({
    NATS_TLS_CA_FILE: caFile,
    NATS_TLS_CERT_FILE: certFile,
    NATS_TLS_KEY_FILE: keyFile,
  })) {
    if (file !== undefined) readNamed(setting, file);
  }
  const isWanted = urlsOf(natsUrl).some(({ protocol }) => protocol === 'tls:');
  if (!isWanted && caFile === undefined && certFile === undefined) return undefined;
  return {
    ...(caFile === undefined ? {} : { caFile }),
    ...(certFile === undefined ? {} : { certFile }),
    ...(keyFile === undefined ? {} : { keyFile }),
  };
}

/** The file as it is now, else as it was when it could last be read: secrets are replaced under a running process. */
function following(setting: string, file: string): () => Buffer {
  let known = readNamed(setting, file);
  return () => {
    try {
      known = readFileSync(file);
    } catch {
      // The file is in the middle of being replaced. The server decides whether the old one is still good.
    }
    return known;
  };
}

function readNamed(setting: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new NatsAccessError(`${setting}: ${file} cannot be read (${code})`, error);
  }
}
