/** The streams and buckets of Troupe as desired state (design/messages.md §1, politeness.md §6). */
import {
  DiscardPolicy,
  JetStreamApiError,
  RetentionPolicy,
  StorageType,
  type JetStreamManager,
  type StreamConfig,
} from '@nats-io/jetstream';
import type { Kvm } from '@nats-io/kv';
import { nanos, NoRespondersError, RequestError, TimeoutError } from '@nats-io/nats-core';
import { BUCKETS, STREAM_ACT, STREAM_WORK } from '@troupe/contracts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** JetStream's words for "there is one of this name, but different". */
const NAME_IN_USE = 10058;
const STREAM_NOT_FOUND = 10059;
/** No peers for so many copies; copies on a server that is alone. */
const TOO_FEW_SERVERS = new Set([10005, 10074]);
const STATUS_UNAVAILABLE = 503;

type DesiredStream = Pick<
  StreamConfig,
  | 'name'
  | 'subjects'
  | 'retention'
  | 'storage'
  | 'discard'
  | 'max_age'
  | 'duplicate_window'
  | 'max_msg_size'
  | 'num_replicas'
>;

interface DesiredBucket {
  storage: StorageType;
  /** Sweeps what nobody needs any more; nothing relies on it. 0 = kept. */
  ttlMs: number;
}

function workQueueStream(name: string, subjects: string[], maxAgeMs: number, replicas: number): DesiredStream {
  return {
    name,
    subjects,
    retention: RetentionPolicy.Workqueue,
    storage: StorageType.File,
    discard: DiscardPolicy.New,
    max_age: nanos(maxAgeMs),
    duplicate_window: nanos(2 * MINUTE_MS),
    max_msg_size: -1,
    num_replicas: replicas,
  };
}

const DESIRED_BUCKETS: Record<string, DesiredBucket> = {
  [BUCKETS.slot]: { storage: StorageType.Memory, ttlMs: HOUR_MS },
  [BUCKETS.receiver]: { storage: StorageType.Memory, ttlMs: HOUR_MS },
  [BUCKETS.penalty]: { storage: StorageType.Memory, ttlMs: 20 * MINUTE_MS },
  [BUCKETS.cancel]: { storage: StorageType.File, ttlMs: 48 * HOUR_MS },
  [BUCKETS.pause]: { storage: StorageType.File, ttlMs: 49 * HOUR_MS },
  [BUCKETS.partition]: { storage: StorageType.File, ttlMs: 0 },
  [BUCKETS.members]: { storage: StorageType.File, ttlMs: 10 * MINUTE_MS },
};

export async function ensureStreams(jsm: JetStreamManager, replicas: number): Promise<void> {
  await ensureStream(jsm, workQueueStream(STREAM_ACT, ['act.>'], 7 * 24 * HOUR_MS, replicas));
  await ensureStream(jsm, workQueueStream(STREAM_WORK, ['work.>'], 2 * HOUR_MS, replicas));
}

export async function ensureBuckets(jsm: JetStreamManager, kvm: Kvm, replicas: number): Promise<void> {
  for (const [bucket, { storage, ttlMs }] of Object.entries(DESIRED_BUCKETS)) {
    const current = await currentStream(jsm, `KV_${bucket}`);
    if (current !== null && current.num_replicas !== replicas)
      await jsm.streams.update(current.name, { ...current, num_replicas: replicas });
    if (current !== null) continue;
    await unlessTaken(() => kvm.create(bucket, { storage, ttl: ttlMs, history: 1, replicas, allow_direct: true }));
  }
}

/** The servers are there, but not enough of them for the copies that were asked for. */
export function hasTooFewServers(error: unknown): boolean {
  return error instanceof JetStreamApiError && TOO_FEW_SERVERS.has(error.code);
}

/** Leaders are being elected, or the answer was lost: the same call may succeed later. */
export function isPassing(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return error.status === STATUS_UNAVAILABLE;
  return error instanceof TimeoutError || error instanceof RequestError || error instanceof NoRespondersError;
}

async function ensureStream(jsm: JetStreamManager, desired: DesiredStream): Promise<void> {
  const current = await currentStream(jsm, desired.name);
  if (current === null) {
    await unlessTaken(() => jsm.streams.add(desired));
    return;
  }
  if (!differs(current, desired)) return;
  await jsm.streams.update(desired.name, { ...current, ...desired });
}

async function currentStream(jsm: JetStreamManager, name: string): Promise<StreamConfig | null> {
  try {
    return (await jsm.streams.info(name)).config;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === STREAM_NOT_FOUND) return null;
    throw error;
  }
}

/** Another service of the same version was faster: what it made is what we want. */
async function unlessTaken(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!(error instanceof JetStreamApiError && error.code === NAME_IN_USE)) throw error;
  }
}

function differs(current: StreamConfig, desired: DesiredStream): boolean {
  return Object.entries(desired).some(
    ([field, value]) => JSON.stringify(current[field as keyof StreamConfig]) !== JSON.stringify(value),
  );
}
