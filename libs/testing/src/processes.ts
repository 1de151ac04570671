/** Processes as /proc shows them, for specs that check which processes a browser leaves behind. */
import { readdirSync, readFileSync } from 'node:fs';

export interface Proc {
  pid: number;
  parent: number;
  state: string;
  command: string;
}

export function processes(): Proc[] {
  const found: Proc[] = [];
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const [state = '', parent = '0'] = readFileSync(`/proc/${name}/stat`, 'latin1')
        .replace(/^.*\) /s, '')
        .split(' ');
      const command = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ');
      found.push({ pid: Number(name), parent: Number(parent), state, command });
    } catch {
      continue;
    }
  }
  return found;
}

/** All processes that a process has started, directly or through others. */
export function descendantsOf(pid: number): Proc[] {
  const all = processes();
  const family = new Set([pid]);
  for (let size = 0; size !== family.size;) {
    size = family.size;
    for (const proc of all) if (family.has(proc.parent)) family.add(proc.pid);
  }
  return all.filter((proc) => family.has(proc.pid) && proc.pid !== pid);
}
