import { lookup, Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { failure, fine, reasonOf, warning, type Finding } from '../finding.js';
import type { Installation } from '../installation.js';

const ASK_MS = 2_000;
const TRIES = 2;
/** Errors that a working server answers: it knows no such name, or no address of it. */
const HONEST = new Set(['ENOTFOUND', 'ENODATA']);

/** Checks the resolver for sites, and the host names that the installation itself connects to. */
export async function checkNames(installation: Installation): Promise<Finding[]> {
  const { dnsServers } = installation.config;
  const resolvers = dnsServers.length === 0 ? [checkSystem()] : dnsServers.map(checkServer);
  return [...(await Promise.all(resolvers)), ...(await Promise.all(hostsOf(installation).map(checkHost)))];
}

async function checkSystem(): Promise<Finding> {
  try {
    await lookup('localhost');
  } catch (error) {
    const mend = 'Give /etc/hosts a line for localhost, and /etc/nsswitch.conf "hosts: files dns".';
    return failure('dns', `localhost has no address (${reasonOf(error)})`, mend);
  }
  const config = await readFile('/etc/resolv.conf', 'utf8').catch(() => null);
  if (config !== null && !/^\s*nameserver\s+\S/m.test(config)) {
    const mend = 'Name a resolver in /etc/resolv.conf, or in DNS_SERVERS.';
    return warning('dns', '/etc/resolv.conf names no server: names of sites cannot be resolved', mend);
  }
  return fine('dns', 'the system resolves localhost');
}

async function checkServer(server: string): Promise<Finding> {
  const resolver = new Resolver({ timeout: ASK_MS, tries: TRIES });
  try {
    resolver.setServers([server]);
    await resolver.resolve4('localhost');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!HONEST.has(code)) {
      const mend = 'Correct DNS_SERVERS (ip or ip:port), or leave it out to use the resolver of the system.';
      return failure('dns', `${server} does not answer (${code || reasonOf(error)})`, mend);
    }
  }
  return fine('dns', `${server} answers`);
}

interface NamedHost {
  setting: string;
  host: string;
}

function hostsOf({ config, isSet }: Installation): NamedHost[] {
  const addresses: [setting: string, address: string | undefined][] = [
    ['DATABASE_URL', isSet('DATABASE_URL') ? config.databaseUrl : undefined],
    ...(isSet('NATS_URL') ? config.natsUrl.split(',') : []).map((url): [string, string] => ['NATS_URL', url.trim()]),
    ['S3_ENDPOINT', config.blobStore === 's3' ? config.s3Endpoint : undefined],
    ['SEARXNG_URL', config.searxngUrl],
    ['LLM_BASE_URL', config.llmBaseUrl],
  ];
  return addresses.flatMap(([setting, address]) => {
    if (address === undefined) return [];
    const host = new URL(address.includes('://') ? address : `any://${address}`).hostname.replace(/^\[|\]$/g, '');
    return host === '' || isIP(host) !== 0 ? [] : [{ setting, host }];
  });
}

async function checkHost({ setting, host }: NamedHost): Promise<Finding> {
  const about = `dns (${setting})`;
  try {
    const { address } = await lookup(host);
    return fine(about, `${host} is ${address}`);
  } catch (error) {
    const mend = `Correct the name in ${setting}, or make it known to the resolver of this machine.`;
    return failure(about, `${host} has no address (${reasonOf(error)})`, mend);
  }
}
