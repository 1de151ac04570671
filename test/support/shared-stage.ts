/**
 * A cluster behind a resolver of the spec file, for those that want no more than that.
 *
 * Starting a cluster costs 15 s of CPU. Where TROUPE_TEST_SHARED names a folder, the files that run one after the other in
 * a process share one: the first starts it, and it ends with the process. Without, each file has its own.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { startDns, type DnsServer, type Zone } from '@troupe/testing';
import { joinCluster, keepForProcess, startCluster, type RunningCluster } from './cluster.js';

/** Settings that the specs about one format or another want; change tracking asks a host for many pages at once. */
export const FORMATS_CLUSTER = {
  ALLOW_PRIVATE_TARGETS: '127.0.0.1',
  HOST_GAP_MS: '0',
  HOST_EXPRESS_CONN: '16',
  LLM_PROVIDER: 'none',
};

/** Settings that the clients' specs want. */
export const CLIENTS_CLUSTER = { ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', HOST_GAP_MS: '0' };

export interface Stage {
  cluster: RunningCluster;
  stop(): Promise<void>;
}

interface FirstStage {
  folder: string;
  file: string;
  settings: Record<string, string>;
  zone: Zone;
}

/** Record that the first file leaves for the later ones. */
interface StageRecord {
  settings: Record<string, string>;
  dnsPort: number;
  url: string;
  apiKey: string;
}

/**
 * @param settings of the cluster; files that share one ask for the same
 * @param zone what the resolver knows while the file runs
 */
export async function startStage(settings: Record<string, string>, zone: Zone = {}): Promise<Stage> {
  const folder = process.env.TROUPE_TEST_SHARED;
  if (folder === undefined) return startOwnStage(settings, zone);
  const file = path.join(folder, 'stage.json');
  if (!existsSync(file)) return startFirstStage({ folder, file, settings, zone });
  return joinStage(folder, readRecord(file, settings), zone);
}

const withResolver = (settings: Record<string, string>, dns: DnsServer) => ({ ...settings, DNS_SERVERS: dns.address });

async function startOwnStage(settings: Record<string, string>, zone: Zone): Promise<Stage> {
  const dns = await startDns(zone);
  const cluster = await startCluster({ env: withResolver(settings, dns) });
  const stop = async () => {
    await cluster.stop();
    dns.close();
  };
  return { cluster, stop };
}

async function startFirstStage({ folder, file, settings, zone }: FirstStage): Promise<Stage> {
  const dns = await startDns(zone);
  const dataDir = path.join(folder, 'data');
  await mkdir(dataDir, { recursive: true });
  // As root, Postgres runs as another user.
  for (const dir of [folder, dataDir]) await chmod(dir, 0o755);
  const cluster = await startCluster({ env: withResolver(settings, dns), dataDir });
  keepForProcess(cluster);
  const record: StageRecord = { settings, dnsPort: dns.port, url: cluster.url, apiKey: cluster.apiKey };
  writeFileSync(file, JSON.stringify(record));
  return { cluster, stop: async () => dns.close() };
}

/** The resolver is of the file, at the address that the cluster knows. */
async function joinStage(folder: string, { dnsPort, url, apiKey }: StageRecord, zone: Zone): Promise<Stage> {
  const dns = await startDns(zone, dnsPort);
  const cluster = joinCluster({ url, apiKey, dataDir: path.join(folder, 'data') });
  return { cluster, stop: async () => dns.close() };
}

function readRecord(file: string, settings: Record<string, string>): StageRecord {
  const record = JSON.parse(readFileSync(file, 'utf8')) as StageRecord;
  if (JSON.stringify(record.settings) !== JSON.stringify(settings))
    throw new Error(`the shared cluster has ${JSON.stringify(record.settings)}, not ${JSON.stringify(settings)}`);
  return record;
}
