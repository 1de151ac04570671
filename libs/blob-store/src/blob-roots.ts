/** The roots of the store, each with its own rule for dropping blobs (docs/design/data-model.md, "Blobs"). */
import { access, constants, mkdir, readdir, rm, statfs } from 'node:fs/promises';
import path from 'node:path';
import { BlobNotFoundError, type BlobStore } from './blob-store.js';
import { DurableFolders } from './durable-folders.js';
import { FsBlobStore } from './fs.store.js';
import { S3BlobStore, S3Bucket } from './s3.store.js';

const ERASED = 'zdr';
const ERASED_KEY = /^zdr\/([0-9a-f-]{36})\/(.+)$/s;
const JOB = /^[0-9a-f-]{36}$/;

/** Blobs of jobs that leave nothing behind. Never shared: a job's blobs go with it, whatever their hour. */
export interface ErasableBlobs {
  /** `put` of the job's own store; its keys begin with `zdr/<job>/`. */
  of(job: string): Pick<BlobStore, 'put'>;
  /** Jobs that have blobs. */
  jobs(): Promise<string[]>;
  erase(job: string): Promise<void>;
}

export interface BlobRoots {
  /** Results of jobs; `get` also reads keys of `erasable`. */
  results: BlobStore;
  /** Bodies of cached pages, by the hour after which they may not be used. */
  cache: BlobStore;
  /** Texts that later scrapes are compared with. */
  snapshots: BlobStore;
  /** Files that documents point to, see `Artifacts`; by the hour after which no document does. */
  artifacts: BlobStore;
  erasable: ErasableBlobs;
}

/** Where the roots are, in the words of the settings. */
export interface BlobSettings {
  blobStore: 'fs' | 's3';
  troupeDataDir: string;
  /** false: bytes that `fs` has stored may be lost with the power. @default true */
  blobSync?: boolean;
  s3Bucket?: string;
  s3Endpoint?: string;
  s3Region: string;
  s3AccessKeyId?: string;
  s3SecretAccessKey?: string;
  s3Prefix: string;
}

/** The roots of an installation. Opening them asks no server; `check` does. */
export interface OpenBlobs extends BlobRoots {
  /** Rejects with the reason when the store cannot be used. */
  check(): Promise<void>;
  /** Space on the disk below them; null when there is none of ours. */
  space(): Promise<DiskSpace | null>;
  close(): void;
}

/** `freeBytes`: free for this process, without the reserve of root. */
export interface DiskSpace {
  freeBytes: number;
  sizeBytes: number;
}

/** How long a server is waited for. */
export interface S3Timeouts {
  /** A connection on which nothing moves for this long is given up. */
  silenceMs: number;
  /** Attempts of each request, the first included. */
  attempts: number;
}

/** Together less than a lane waits before it gives its pages back. */
const S3_TIMEOUTS: S3Timeouts = { silenceMs: 8_000, attempts: 3 };
/** One write may be as large: two packs of documents. */
const MIN_FREE_BYTES = 8 * 2 ** 20;
/** The wait for one of the sockets counts, too. */
const S3_CONNECT_MS = 10_000;

/** @param settings have been checked: a bucket is named for `s3` */
export async function openBlobs(settings: BlobSettings, timeouts = S3_TIMEOUTS): Promise<OpenBlobs> {
  if (settings.blobStore === 's3') return openS3(settings, timeouts);
  const folder = path.join(settings.troupeDataDir, 'blobs');
  const check = async (): Promise<void> => {
    await access(settings.troupeDataDir, constants.R_OK | constants.W_OK);
    const { freeBytes } = await spaceAt(folder);
    if (freeBytes < MIN_FREE_BYTES) throw new Error(`the disk of the results is full: ${freeBytes} bytes are free`);
  };
  return { ...openBlobRoots(folder, settings.blobSync), check, space: () => spaceAt(folder), close: () => undefined };
}

/** The folder may be a disk of its own; before the first blob it is made, to know. */
async function spaceAt(folder: string): Promise<DiskSpace> {
  await mkdir(folder, { recursive: true });
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}

/** Everything below one folder: a single machine, or a shared volume. @param sync stored bytes outlive a power cut */
export function openBlobRoots(folder: string, sync = true): BlobRoots {
  const folders = new DurableFolders(path.dirname(folder), sync);
  const erasable = new KeptApart({
    storeOf: (job) => new FsBlobStore(path.join(folder, ERASED, job), folders),
    list: () => foldersIn(path.join(folder, ERASED)),
    drop: async (job) => {
      await rm(path.join(folder, ERASED, job), { recursive: true, force: true, maxRetries: 3 });
      folders.forget(path.join(folder, ERASED, job));
    },
  });
  return {
    results: new ResultBlobs(new FsBlobStore(folder, folders), erasable),
    cache: new FsBlobStore(path.join(folder, 'cache'), folders),
    snapshots: new FsBlobStore(path.join(folder, 'snap'), folders),
    artifacts: new FsBlobStore(path.join(folder, 'art'), folders),
    erasable,
  };
}

/** The same places below one prefix of a bucket. */
export function s3BlobRoots(bucket: S3Bucket): BlobRoots {
  const erased = bucket.below(`${ERASED}/`);
  const erasable = new KeptApart({
    storeOf: (job) => new S3BlobStore(erased.below(`${job}/`)),
    list: () => erased.folders(),
    drop: (job) => erased.drop(job),
  });
  return {
    results: new ResultBlobs(new S3BlobStore(bucket), erasable),
    cache: new S3BlobStore(bucket.below('cache/')),
    snapshots: new S3BlobStore(bucket.below('snap/')),
    artifacts: new S3BlobStore(bucket.below('art/')),
    erasable,
  };
}

/** Requests that are under way at once; more wait. */
const S3_SOCKETS = 64;

async function openS3(settings: BlobSettings, { silenceMs, attempts }: S3Timeouts): Promise<OpenBlobs> {
  const sdk = await import('@aws-sdk/client-s3');
  const { s3Bucket = '', s3Endpoint, s3Region, s3AccessKeyId, s3SecretAccessKey, s3Prefix } = settings;
  const own = { accessKeyId: s3AccessKeyId ?? '', secretAccessKey: s3SecretAccessKey ?? '' };
  const client = new sdk.S3Client({
    region: s3Region,
    // Servers other than Amazon's know a bucket by its path.
    ...(s3Endpoint === undefined ? {} : { endpoint: s3Endpoint, forcePathStyle: true }),
    // Without keys of our own those of the machine are used: environment, role of the pod.
    ...(s3AccessKeyId === undefined ? {} : { credentials: own }),
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: attempts,
    requestHandler: {
      connectionTimeout: S3_CONNECT_MS,
      socketTimeout: silenceMs,
      httpAgent: { maxSockets: S3_SOCKETS },
      httpsAgent: { maxSockets: S3_SOCKETS },
    },
  });
  const bucket = new S3Bucket(sdk, client, { bucket: s3Bucket, prefix: s3Prefix });
  return {
    ...s3BlobRoots(bucket),
    check: () => bucket.check(),
    space: () => Promise.resolve(null),
    close: () => bucket.close(),
  };
}

/** Results, and blobs of jobs that leave nothing behind. */
class ResultBlobs implements BlobStore {
  constructor(
    private readonly store: BlobStore,
    private readonly erasable: KeptApart,
  ) {}

  put(bytes: Uint8Array, hour: string): Promise<string> {
    return this.store.put(bytes, hour);
  }

  get(key: string): Promise<Buffer> {
    return key.startsWith(`${ERASED}/`) ? this.erasable.get(key) : this.store.get(key);
  }

  dropHour(hour: string): Promise<void> {
    return this.store.dropHour(hour);
  }

  listHours(): Promise<string[]> {
    return this.store.listHours();
  }
}

interface JobPlaces {
  storeOf(job: string): BlobStore;
  list(): Promise<string[]>;
  drop(job: string): Promise<void>;
}

class KeptApart implements ErasableBlobs {
  constructor(private readonly places: JobPlaces) {}

  of(job: string): Pick<BlobStore, 'put'> {
    const store = this.places.storeOf(checked(job));
    return { put: async (bytes, hour) => `${ERASED}/${job}/${await store.put(bytes, hour)}` };
  }

  async get(key: string): Promise<Buffer> {
    const [, job, rest] = ERASED_KEY.exec(key) ?? [];
    if (job === undefined) throw new BlobNotFoundError(key);
    return this.places.storeOf(checked(job)).get(rest!);
  }

  async jobs(): Promise<string[]> {
    return (await this.places.list()).filter((name) => JOB.test(name)).sort();
  }

  async erase(job: string): Promise<void> {
    await this.places.drop(checked(job));
  }
}

/** @throws RangeError for anything but an id: no path leaves the root */
function checked(job: string): string {
  if (!JOB.test(job)) throw new RangeError(`not a job: ${JSON.stringify(job)}`);
  return job;
}

async function foldersIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return [];
  }
}
