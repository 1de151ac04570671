/** The roots of the store, each with its own way of forgetting (design/data-model.md §5). */
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { BlobNotFoundError, type BlobStore } from './blob-store.js';
import { FsBlobStore } from './fs.store.js';

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
  /** Bodies of cached pages, by the hour after which nobody may use them. */
  cache: BlobStore;
  /** Texts that later scrapes are compared with. */
  snapshots: BlobStore;
  erasable: ErasableBlobs;
}

/** Everything below one folder: a single machine, or a shared volume. */
export function openBlobRoots(folder: string): BlobRoots {
  const erasable = new FsErasableBlobs(path.join(folder, ERASED));
  return {
    results: new ResultBlobs(folder, erasable),
    cache: new FsBlobStore(path.join(folder, 'cache')),
    snapshots: new FsBlobStore(path.join(folder, 'snap')),
    erasable,
  };
}

class ResultBlobs extends FsBlobStore {
  constructor(
    folder: string,
    private readonly erasable: FsErasableBlobs,
  ) {
    super(folder);
  }

  override get(key: string): Promise<Buffer> {
    return key.startsWith(`${ERASED}/`) ? this.erasable.get(key) : super.get(key);
  }
}

class FsErasableBlobs implements ErasableBlobs {
  constructor(private readonly folder: string) {}

  of(job: string): Pick<BlobStore, 'put'> {
    const store = this.storeOf(job);
    return { put: async (bytes, hour) => `${ERASED}/${job}/${await store.put(bytes, hour)}` };
  }

  async get(key: string): Promise<Buffer> {
    const [, job, rest] = ERASED_KEY.exec(key) ?? [];
    if (job === undefined) throw new BlobNotFoundError(key);
    return this.storeOf(job).get(rest!);
  }

  async jobs(): Promise<string[]> {
    try {
      return (await readdir(this.folder)).filter((name) => JOB.test(name)).sort();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return [];
    }
  }

  async erase(job: string): Promise<void> {
    await rm(this.folderOf(job), { recursive: true, force: true, maxRetries: 3 });
  }

  private storeOf(job: string): FsBlobStore {
    return new FsBlobStore(this.folderOf(job));
  }

  /** @throws RangeError for anything but an id: no path leaves the root */
  private folderOf(job: string): string {
    if (!JOB.test(job)) throw new RangeError(`not a job: ${JSON.stringify(job)}`);
    return path.join(this.folder, job);
  }
}
