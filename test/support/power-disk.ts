/**
 * A disk whose power can fail: an ext4 file system in a file. When it is cut, what was not synced is gone, as the file system
 * itself sees to. What it cannot show is a device that lies about its own cache. Only root may mount one.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const MB = 2 ** 20;
/** Processes that were killed need some time to let go of their files. */
const LET_GO_MS = 10_000;
/** Node has no `ioctl`: EXT4_IOC_SHUTDOWN, with the flag that says: write nothing any more, not even the journal. */
const SHUT_DOWN = `
use Fcntl;
sysopen(my $disk, $ARGV[0], O_RDONLY) or die "open: $!";
defined(ioctl($disk, 0x8004587d, my $flag = pack("L", 2))) or die "ioctl: $!";
`;

export class PowerDisk {
  private constructor(
    /** Where it is mounted. */
    readonly folder: string,
    private readonly work: string,
  ) {}

  /**
   * Why there can be none here, null when there can. Says it on stderr, too: what is not tried must be seen.
   * @param untried what is left out without one
   */
  static whyNone(untried: string): string | null {
    try {
      const disk = PowerDisk.mount(16);
      try {
        disk.cut();
      } finally {
        disk.remove();
      }
      return null;
    } catch (error) {
      const reason = (error as Error).message;
      process.stderr.write(`troupe    | SKIPPED: ${untried}: no power can be cut here (${reason})\n`);
      return reason;
    }
  }

  static mount(sizeMb: number): PowerDisk {
    const work = mkdtempSync(path.join(tmpdir(), 'troupe-power-disk-'));
    const disk = new PowerDisk(path.join(work, 'mounted'), work);
    try {
      mkdirSync(disk.folder);
      const file = openSync(disk.image, 'w');
      ftruncateSync(file, sizeMb * MB);
      closeSync(file);
      run('mkfs.ext4', ['-q', '-F', '-m', '0', disk.image]);
      // Postgres runs as another user.
      run('chmod', ['0755', work]);
      disk.attach();
    } catch (error) {
      disk.remove();
      throw error;
    }
    return disk;
  }

  /** From now on nothing reaches the disk, and every call on its files fails that would need it. */
  cut(): void {
    run('perl', ['-e', SHUT_DOWN, this.folder]);
  }

  /** Mounts what is left. None of its files may be open any more. */
  async restore(): Promise<void> {
    const deadline = performance.now() + LET_GO_MS;
    for (; ; await sleep(100)) {
      try {
        run('umount', [this.folder]);
        break;
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
    }
    this.attach();
  }

  /** With everything on it. */
  remove(): void {
    // It fails where nothing is mounted. The loop device goes with the last process that has a file open.
    spawnSync('umount', ['--lazy', this.folder]);
    rmSync(this.work, { recursive: true, force: true });
  }

  private get image(): string {
    return path.join(this.work, 'image');
  }

  private attach(): void {
    run('mount', ['-t', 'ext4', '-o', 'loop', this.image, this.folder]);
  }
}

function run(program: string, args: string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program}: ${error?.message ?? stderr.trim()}`);
}
