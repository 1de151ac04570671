/** One look at a NATS server, for an operator who wants to know whether Troupe can run on it. */
import { jetstreamManager, StorageType, type JetStreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { randomBytes } from 'node:crypto';
import { isSupportedVersion, MIN_PAYLOAD_BYTES, OLDEST_SERVER, replicasFor } from './nats-requirements.js';
import { accessOf, type NatsServerSettings } from './nats-server.js';
import { hasTooFewServers } from './topology.js';

/** -1 = no limit. */
export interface StorageUse {
  usedBytes: number;
  limitBytes: number;
}

export interface NatsReport {
  version: string;
  /** Oldest version that will do. */
  oldest: string;
  isNewEnough: boolean;
  /** Name of the cluster of servers; null: the server is alone. */
  cluster: string | null;
  isEncrypted: boolean;
  maxPayloadBytes: number;
  neededPayloadBytes: number;
  /** Copies that streams and buckets have. */
  replicas: number;
  /** null: it is off on this server. */
  jetStream: JetStreamReport | null;
}

export interface JetStreamReport {
  memory: StorageUse;
  storage: StorageUse;
  /** Why a stream of the needed kind could not be made, written and removed; null: it could. */
  refusal: 'too few servers' | { reason: string } | null;
  /** Its clock less ours; null when it could not be read. */
  skewMs: number | null;
}

/** @throws the client's error when there is no answer, or access is refused, and NatsAccessError */
export async function examineNats(settings: NatsServerSettings, timeoutMs: number): Promise<NatsReport> {
  const access = accessOf(settings);
  const nc = await connect({ ...access, name: 'troupe-doctor', reconnect: false, timeout: timeoutMs });
  try {
    const { info } = nc;
    if (info === undefined) throw new Error('the server did not introduce itself');
    const replicas = replicasFor(settings, info.cluster);
    return {
      version: info.version,
      oldest: OLDEST_SERVER.join('.'),
      isNewEnough: isSupportedVersion(info.version),
      cluster: info.cluster ?? null,
      isEncrypted: info.tls_required === true || access.tls !== undefined,
      maxPayloadBytes: info.max_payload,
      neededPayloadBytes: MIN_PAYLOAD_BYTES,
      replicas,
      jetStream: info.jetstream === true ? await examineJetStream(nc, replicas, timeoutMs) : null,
    };
  } finally {
    await nc.close();
  }
}

async function examineJetStream(
  nc: NatsConnection,
  replicas: number,
  timeout: number,
): Promise<JetStreamReport | null> {
  const jsm = await jetstreamManager(nc, { timeout, checkAPI: false });
  const account = await jsm.getAccountInfo();
  return {
    memory: { usedBytes: account.memory, limitBytes: account.limits.max_memory },
    storage: { usedBytes: account.storage, limitBytes: account.limits.max_storage },
    ...(await tryStream(nc, jsm, replicas)),
  };
}

/** Makes a stream as Troupe's are, stores a message in it, reads the server's clock, and removes it. */
async function tryStream(
  nc: NatsConnection,
  jsm: JetStreamManager,
  replicas: number,
): Promise<Pick<JetStreamReport, 'refusal' | 'skewMs'>> {
  const id = randomBytes(6).toString('hex');
  const name = `TROUPE_DOCTOR_${id}`;
  const subject = `troupe.doctor.${id}`;
  try {
    await jsm.streams.add({ name, subjects: [subject], storage: StorageType.File, num_replicas: replicas });
    await nc.request(subject, 'doctor', { timeout: 5_000 });
    const askedMs = Date.now();
    const { ts } = (await jsm.streams.info(name)) as { ts?: string };
    const halfwayMs = (askedMs + Date.now()) / 2;
    return { refusal: null, skewMs: ts === undefined ? null : Date.parse(ts) - halfwayMs };
  } catch (error) {
    if (hasTooFewServers(error)) return { refusal: 'too few servers', skewMs: null };
    return { refusal: { reason: error instanceof Error ? error.message : String(error) }, skewMs: null };
  } finally {
    await jsm.streams.delete(name).catch(() => undefined);
  }
}
