/** Measures process trees from one moment to another: time, CPU, memory, and who else used the machine meanwhile. */
import { cpuAboveIdleS, cpuBetween, lookAtMachine } from './machine.mjs';
import { readProcesses, treeCpuS, treePssMb } from './proc.mjs';
import { round } from './numbers.mjs';

/** The kernel walks every page table to answer, so each look costs the machine that is measured some tens of milliseconds. */
const SAMPLE_MS = 2_000;

/**
 * @typedef {object} Reading
 * @property {number} wallS
 * @property {number} cpuS of the whole
 * @property {Record<string, number>} cpuPartsS of its named parts
 * @property {number} siteCpuS of the site that was crawled
 * @property {number} benchCpuS of the bench itself
 * @property {number} idleShare share of the machine that was in use before, as it was given
 * @property {number} machineCpuS of the machine without the site, the bench and what the idle machine uses: of the whole
 *   with the processes that left it unreaped, as long as nobody else works
 * @property {number} foreignShare share of the machine that others used, 0 … 1
 * @property {number} peakPssMb
 * @property {Record<string, number>} peakPssPartsMb
 * @property {{ atS: number, pages: number, pssMb: number }[]} trace
 */

export class Meter {
  #startedMs = performance.now();
  #table = readProcesses();
  /** @type {Reading['trace']} */
  #trace = [];
  /** Most that the tree had used whenever it was looked at: what leaves it unreaped is missing at the end. */
  #seenCpuS = 0;
  #peakPssMb = 0;
  /** @type {Record<string, number>} */
  #peakPssPartsMb = {};
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /**
   * @param {object} what
   * @param {number} what.pid root of the tree that is measured
   * @param {Record<string, number>} [what.parts] processes of that tree to be shown one by one
   * @param {number} what.sitePid
   * @param {number} [what.idleShare] share of the machine that the idle one uses, see `measureIdle`
   * @param {() => number} [what.pagesSoFar]
   * @param {boolean} [what.withMemory] false: memory is not sampled
   */
  constructor({ pid, parts = {}, sitePid, idleShare = 0, pagesSoFar = () => 0, withMemory = true }) {
    this.pid = pid;
    this.parts = parts;
    this.sitePid = sitePid;
    this.idleShare = idleShare;
    this.firstLook = lookAtMachine(sitePid, this.#table);
    this.pagesSoFar = pagesSoFar;
    if (!withMemory) return;
    this.sampleMemory();
    this.#timer = setInterval(() => this.sampleMemory(), SAMPLE_MS).unref();
  }

  sampleMemory() {
    const table = readProcesses();
    const known = new Map();
    const pssMb = treePssMb(table, this.pid, known);
    this.#seenCpuS = Math.max(this.#seenCpuS, treeCpuS(table, this.pid) - treeCpuS(this.#table, this.pid));
    this.#peakPssMb = Math.max(this.#peakPssMb, pssMb);
    for (const [name, pid] of Object.entries(this.parts)) {
      const partMb = treePssMb(table, pid, known);
      this.#peakPssPartsMb[name] = Math.max(this.#peakPssPartsMb[name] ?? 0, partMb);
    }
    const atS = (performance.now() - this.#startedMs) / 1000;
    this.#trace.push({ atS: round(atS, 1), pages: this.pagesSoFar(), pssMb: Math.round(pssMb) });
  }

  /** @param {{ cpuS?: number }} [known] CPU of a tree that has ended, which `/proc` no longer shows @returns {Reading} */
  stop({ cpuS } = {}) {
    clearInterval(this.#timer);
    const wallS = (performance.now() - this.#startedMs) / 1000;
    const now = readProcesses();
    const used = (/** @type {number} */ pid) => Math.max(0, treeCpuS(now, pid) - treeCpuS(this.#table, pid));
    const wholeS = Math.max(cpuS ?? used(this.pid), this.#seenCpuS);
    const lastLook = lookAtMachine(this.sitePid, now);
    const { siteS, benchS, othersS, machineS } = cpuBetween(this.firstLook, lastLook);
    return {
      wallS: round(wallS, 3),
      cpuS: round(wholeS, 2),
      cpuPartsS: mapValues(this.parts, (pid) => round(used(pid), 2)),
      siteCpuS: round(siteS, 2),
      benchCpuS: round(benchS, 2),
      idleShare: round(this.idleShare, 3),
      machineCpuS: round(cpuAboveIdleS(this.firstLook, lastLook, this.idleShare), 2),
      foreignShare: round(Math.max(0, (othersS - wholeS) / machineS), 3),
      peakPssMb: Math.round(this.#peakPssMb),
      peakPssPartsMb: mapValues(this.#peakPssPartsMb, Math.round),
      trace: this.#trace,
    };
  }
}

/** @param {Record<string, number>} record @param {(value: number) => number} change */
function mapValues(record, change) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

/** Memory of a tree and its parts right now. @param {number} pid @param {Record<string, number>} parts */
export function memoryNow(pid, parts) {
  const table = readProcesses();
  const known = new Map();
  return {
    pssMb: Math.round(treePssMb(table, pid, known)),
    pssPartsMb: mapValues(parts, (part) => Math.round(treePssMb(table, part, known))),
  };
}
