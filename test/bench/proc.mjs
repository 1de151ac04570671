/** What the kernel says about processes: CPU and memory of process trees (Linux). */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK']));

/**
 * @typedef {object} ProcessTable
 * @property {Map<number, { parent: number, ticks: number }>} processes `ticks`: its own and those of its reaped children
 * @property {Map<number, number[]>} children
 */

/** @param {number | string} pid @returns {{ parent: number, own: number, reaped: number } | null} */
function readStat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    return { parent: fields[1], own: fields[11] + fields[12], reaped: fields[13] + fields[14] };
  } catch {
    return null;
  }
}

/** @returns {ProcessTable} */
export function readProcesses() {
  const table = { processes: new Map(), children: new Map() };
  for (const entry of readdirSync('/proc')) {
    const stat = /^\d+$/.test(entry) ? readStat(entry) : null;
    if (stat === null) continue;
    table.processes.set(Number(entry), { parent: stat.parent, ticks: stat.own + stat.reaped });
    const siblings = table.children.get(stat.parent);
    if (siblings === undefined) table.children.set(stat.parent, [Number(entry)]);
    else siblings.push(Number(entry));
  }
  return table;
}

/** The process and all its living descendants. @param {ProcessTable} table @param {number} pid @returns {number[]} */
export function treeOf(table, pid) {
  if (!table.processes.has(pid)) return [];
  return [pid, ...(table.children.get(pid) ?? []).flatMap((child) => treeOf(table, child))];
}

/**
 * CPU seconds of a tree since it began. Grows only: what a child used passes to its parent in the moment it is reaped.
 *
 * @param {ProcessTable} table @param {number} pid
 */
export function treeCpuS(table, pid) {
  const ticks = treeOf(table, pid).reduce((sum, member) => sum + (table.processes.get(member)?.ticks ?? 0), 0);
  return ticks / TICKS_PER_SECOND;
}

/** CPU seconds of all children of this process that have ended. */
export function reapedCpuS() {
  return (readStat('self')?.reaped ?? 0) / TICKS_PER_SECOND;
}

/** CPU seconds that the whole machine was busy since it booted. */
export function machineBusyS() {
  const [user, nice, system, , , irq, softirq] = readFileSync('/proc/stat', 'latin1')
    .split('\n', 1)[0]
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq) / TICKS_PER_SECOND;
}

/**
 * Memory of a tree; pages that several processes share are counted once (PSS).
 * @param {ProcessTable} table @param {number} pid @param {Map<number, number>} known of processes already looked at
 */
export function treePssMb(table, pid, known) {
  let sum = 0;
  for (const member of treeOf(table, pid)) {
    if (!known.has(member)) known.set(member, pssMb(member));
    sum += known.get(member) ?? 0;
  }
  return sum;
}

/** @param {number} pid */
function pssMb(pid) {
  try {
    const line = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'));
    return line === null ? 0 : Number(line[1]) / 1024;
  } catch {
    return 0;
  }
}
