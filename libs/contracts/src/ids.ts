/** Names of things: jobs, actors, partitions, pages. Pure, no I/O. */
import { createHash } from 'node:crypto';

/** Lower-case RFC 9562 UUID. */
export type Uuid = string;

/**
 * `(days since 2024-01-01) << 40 | sequence`, as a decimal string (int64 on the wire is text, `bigint` in SQL).
 * Every bulk table is partitioned by it, one partition a day.
 */
export type JobNo = string;

/** First 8 bytes of SHA-256 of a dedup key, as 16 lower-case hex digits. `bigint` in SQL (see `fingerprintToInt64`). */
export type Fingerprint = string;

export const ACTOR_KINDS = ['crawl', 'batch', 'domain', 'team', 'delivery', 'extract', 'agent'] as const;
export type ActorKind = (typeof ACTOR_KINDS)[number];

/** `<kind>/<id>`, e.g. `crawl/6f0c…`, `domain/example.com:8080`. */
export type ActorKey = `${ActorKind}/${string}`;

export const PARTITIONS = 64;
export const JOB_NO_SEQUENCE_BITS = 40n;
const JOB_NO_EPOCH_MS = Date.UTC(2024, 0, 1);
const DAY_MS = 86_400_000;

export function actorKey(kind: ActorKind, id: string): ActorKey {
  return `${kind}/${id}`;
}

export function parseActorKey(key: ActorKey): { kind: ActorKind; id: string } {
  const slash = key.indexOf('/');
  return { kind: key.slice(0, slash) as ActorKind, id: key.slice(slash + 1) };
}

/**
 * Partition of an actor: a hash of its id alone, so that the actors of one job (crawl, delivery) share a partition.
 * FNV-1a with a final avalanche; publishers and owners must agree on it for ever.
 */
export function partitionOf(key: ActorKey): number {
  const { id } = parseActorKey(key);
  let h = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) h = Math.imul(h ^ id.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x45d9f3b);
  h = Math.imul(h ^ (h >>> 16), 0x45d9f3b);
  return ((h ^ (h >>> 16)) >>> 0) % PARTITIONS;
}

/** Days since 2024-01-01 UTC: the number of the daily partition. */
export function dayOf(ms: number): number {
  return Math.floor((ms - JOB_NO_EPOCH_MS) / DAY_MS);
}

export function jobNoOf(day: number, sequence: bigint): JobNo {
  return ((BigInt(day) << JOB_NO_SEQUENCE_BITS) | sequence).toString();
}

export function fingerprintToInt64(h: Fingerprint): bigint {
  return BigInt.asIntN(64, BigInt(`0x${h}`));
}

export function fingerprintFromInt64(h: bigint): Fingerprint {
  return BigInt.asUintN(64, h).toString(16).padStart(16, '0');
}

/** `metadata.scrapeId` of a job's page: a version-8 UUID that carries (jobNo, item) and nothing else. */
export function scrapeIdOf(jobNo: JobNo, item: number): Uuid {
  // 63 bits of job number and 53 bits of item in the 122 free bits of a v8 UUID.
  const bits = (BigInt(jobNo) << 53n) | BigInt(item);
  const hi = (bits >> 74n) & 0xffffffffffffn; // 48 bits before the version
  const mid = (bits >> 62n) & 0xfffn; // 12 bits between version and variant
  const lo = bits & 0x3fffffffffffffffn; // 62 bits after the variant
  const hex =
    hi.toString(16).padStart(12, '0') +
    '8' +
    mid.toString(16).padStart(3, '0') +
    ((2n << 62n) | lo).toString(16).padStart(16, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const MAX_JOB_NO = 2n ** 63n - 1n;

/** Inverse of `scrapeIdOf`; null for any UUID that is not one of its values. */
export function parseScrapeId(id: Uuid): { jobNo: JobNo; item: number } | null {
  const hex = id.replaceAll('-', '');
  if (!/^[0-9a-f]{12}8[0-9a-f]{3}[89ab][0-9a-f]{15}$/.test(hex)) return null;
  const hi = BigInt(`0x${hex.slice(0, 12)}`);
  const mid = BigInt(`0x${hex.slice(13, 16)}`);
  const lo = BigInt(`0x${hex.slice(16)}`) & 0x3fffffffffffffffn;
  const bits = (hi << 74n) | (mid << 62n) | lo;
  if (bits >> 53n > MAX_JOB_NO) return null;
  return { jobNo: (bits >> 53n).toString(), item: Number(bits & 0x1fffffffffffffn) };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isUuid(text: string): text is Uuid {
  return UUID.test(text);
}

/** UUIDv5: the same for the same name under the same UUID, everywhere and at any time. */
export function uuidOf(namespace: Uuid, name: string): Uuid {
  const hash = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name)
    .digest();
  hash[6] = (hash[6]! & 0x0f) | 0x50;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  const hex = hash.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
