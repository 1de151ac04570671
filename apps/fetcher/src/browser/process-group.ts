/** Memory of a process group, as the kernel tells it. */
import { readdir, readFile } from 'node:fs/promises';

const PAGE_BYTES = 4096;

/**
 * Memory that the processes of a group hold for themselves: resident pages less the shared ones. 0 where there is no
 * /proc. One directory and a line per process are read, without blocking.
 */
export async function groupMemoryBytes(group: number): Promise<number> {
  const names = await readdir('/proc').catch(() => []);
  const sizes = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map((name) => ownBytes(name, group)));
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

/** 0 for a process of another group, and for one that has just ended. */
async function ownBytes(pid: string, group: number): Promise<number> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
    const [, , processGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(processGroup) !== group) return 0;
    const [, resident = 0, shared = 0] = (await readFile(`/proc/${pid}/statm`, 'latin1')).split(' ').map(Number);
    return (resident - shared) * PAGE_BYTES;
  } catch {
    return 0;
  }
}
