/** A disk of its own for a part of a cluster's data, small enough to be filled. Only root may mount one. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, statfsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

const MB = 2 ** 20;
/** Written at once; what is left in the end is less than the smallest. */
const PIECES = [Buffer.alloc(MB), Buffer.alloc(4096)];

export class SmallDisk {
  private constructor(readonly folder: string) {}

  /**
   * Why there can be none here, null when there can. Says it on stderr, too: what is not tried must be seen.
   * @param untried what is left out without one
   */
  static whyNone(untried: string): string | null {
    const folder = mkdtempSync(path.join(tmpdir(), 'troupe-disk-'));
    const reason = mount(folder, 1);
    if (reason === null) unmount(folder);
    rmdirSync(folder);
    if (reason !== null)
      process.stderr.write(`troupe    | SKIPPED: ${untried}: no disk can be mounted here (${reason})\n`);
    return reason;
  }

  /** @param folder is made; what is in it is hidden as long as the disk is there */
  static mount(folder: string, sizeMb: number): SmallDisk {
    mkdirSync(folder, { recursive: true });
    const reason = mount(folder, sizeMb);
    if (reason !== null) throw new Error(`no disk could be mounted at ${folder}: ${reason}`);
    return new SmallDisk(folder);
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.folder);
    return bavail * bsize;
  }

  /** Takes all room but `leftMb`, also what is given back since the last time. */
  async fill(leftMb = 0): Promise<void> {
    const ballast = await open(this.ballast, 'a');
    try {
      for (const piece of PIECES) while (this.freeBytes >= leftMb * MB + piece.length) await ballast.write(piece);
    } catch (error) {
      // Another process has taken the last piece.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      await ballast.close();
    }
  }

  async empty(): Promise<void> {
    await rm(this.ballast, { force: true });
  }

  /** With everything on it. */
  remove(): void {
    unmount(this.folder);
    rmSync(this.folder, { recursive: true, force: true });
  }

  private get ballast(): string {
    return path.join(this.folder, 'ballast');
  }
}

/** null, or why it was refused. */
function mount(folder: string, sizeMb: number): string | null {
  const options = `size=${sizeMb}m,mode=0777`;
  const { status, stderr, error } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'troupe-test', folder], {
    encoding: 'utf8',
  });
  return status === 0 ? null : (error?.message ?? stderr.trim());
}

function unmount(folder: string): void {
  spawnSync('umount', ['--lazy', folder]);
}
