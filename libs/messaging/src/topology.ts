/**
 * The streams and buckets of Troupe as desired state (docs/design/messages.md, "Streams and buckets", docs/design/politeness.md,
 * "Slots").
 */
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
/** Too few servers for the wanted copies, or copies on a server that is alone. */
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
  /** Sweeps what is not needed any more; only `penalty` relies on it. 0 = kept. */
  ttlMs: number;
  /** Writers may say how long a value lives, and nothing is left of it afterwards. @default false */
  hasShortLives?: boolean;
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
  // Verdicts in force are written again each 30 s: a fetcher that starts late must not read one that is no longer in force.
  [BUCKETS.penalty]: { storage: StorageType.Memory, ttlMs: 1.5 * MINUTE_MS },
  [BUCKETS.cancel]: { storage: StorageType.File, ttlMs: 48 * HOUR_MS },
  [BUCKETS.pause]: { storage: StorageType.File, ttlMs: 49 * HOUR_MS },
  [BUCKETS.partition]: { storage: StorageType.File, ttlMs: 0 },
  [BUCKETS.members]: { storage: StorageType.File, ttlMs: 10 * MINUTE_MS },
  [BUCKETS.flight]: { storage: StorageType.Memory, ttlMs: HOUR_MS, hasShortLives: true },
};

export async function ensureStreams(jsm: JetStreamManager, replicas: number): Promise<void> {
  await ensureStream(jsm, workQueueStream(STREAM_ACT, ['act.>'], 7 * 24 * HOUR_MS, replicas));
  await ensureStream(jsm, workQueueStream(STREAM_WORK, ['work.>'], 2 * HOUR_MS, replicas));
}

export async function ensureBuckets(jsm: JetStreamManager, kvm: Kvm, replicas: number): Promise<void> {
  for (const [bucket, { storage, ttlMs, hasShortLives = false }] of Object.entries(DESIRED_BUCKETS)) {
    const current = await currentStream(jsm, `KV_${bucket}`);
    if (current !== null) await keepBucket(jsm, current, { replicas, ttlMs });
    else await unlessTaken(() => kvm.create(bucket, { storage, ttl: ttlMs, history: 1, replicas, allow_direct: true }));
    if (hasShortLives) await allowShortLives(jsm, `KV_${bucket}`);
  }
}

async function keepBucket(
  jsm: JetStreamManager,
  current: StreamConfig,
  { replicas, ttlMs }: { replicas: number; ttlMs: number },
): Promise<void> {
  const maxAge = nanos(ttlMs);
  if (current.num_replicas === replicas && current.max_age === maxAge) return;
  const window = maxAge === 0 ? current.duplicate_window : Math.min(current.duplicate_window, maxAge);
  await jsm.streams.update(current.name, {
    ...current,
    num_replicas: replicas,
    max_age: maxAge,
    duplicate_window: window,
  });
}

/** This option of buckets leaves a marker of each value whose life is over: a key would not be as good as new. */
async function allowShortLives(jsm: JetStreamManager, name: string): Promise<void> {
  const current = await currentStream(jsm, name);
  if (current !== null && current.allow_msg_ttl !== true)
    await jsm.streams.update(name, { ...current, allow_msg_ttl: true });
}

/** The servers are there, but not enough of them for the copies that were asked for. */
export function hasTooFewServers(error: unknown): boolean {
  return error instanceof JetStreamApiError && TOO_FEW_SERVERS.has(error.code);
}

/** Leaders are being elected, or the answer was lost: the same call may succeed later. */
export function isTransient(error: unknown): boolean {
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

/** When another service of the same version was faster, its stream or bucket is the desired one. */
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
