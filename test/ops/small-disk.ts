/** A disk of its own for the results of a cluster, small enough to be filled. */
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

const SIZE_MB = 64;
/** What is left of it is less than a tenth. */
const BALLAST_MB = 60;

export class SmallDisk {
  private constructor(
    /** Data folder of a cluster; its `blobs` lie on the disk. */
    readonly dataDir: string,
    /** False: only root may mount one. The blobs lie on the disk of the machine, which is not filled. */
    readonly isMounted: boolean,
  ) {}

  static async make(): Promise<SmallDisk> {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'troupe-cluster-'));
    const blobs = path.join(dataDir, 'blobs');
    await mkdir(blobs);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MB}m,mode=0777`, 'troupe-test', blobs]);
    // As root, Postgres runs as another user.
    await chmod(dataDir, 0o755);
    return new SmallDisk(dataDir, mounted.status === 0);
  }

  async fill(): Promise<void> {
    await writeFile(this.ballast, Buffer.alloc(BALLAST_MB * 2 ** 20));
  }

  async empty(): Promise<void> {
    await rm(this.ballast, { force: true });
  }

  async remove(): Promise<void> {
    if (this.isMounted) spawnSync('umount', ['--lazy', path.join(this.dataDir, 'blobs')]);
    await rm(this.dataDir, { recursive: true, force: true });
  }

  private get ballast(): string {
    return path.join(this.dataDir, 'blobs', 'ballast');
  }
}
