import { afterEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { workspace } from '../support/cluster.js';

interface Look {
  atMs: number;
  busyS: number;
  siteS: number;
  benchS: number;
}
interface MachineModule {
  lookAtMachine(sitePid: number): Look;
  cpuBetween(from: Look, to: Look): { siteS: number; benchS: number; othersS: number; machineS: number };
  cpuAboveIdleS(from: Look, to: Look, idleShare: number): number;
  measureIdle(sitePid: number, forMs: number): Promise<number>;
}
interface Reading {
  wallS: number;
  cpuS: number;
  machineCpuS: number;
  idleShare: number;
}
interface MeterModule {
  Meter: new (what: { pid: number; sitePid: number; idleShare?: number; withMemory?: boolean }) => {
    stop(): Reading;
  };
}
interface ProcModule {
  readProcesses(): unknown;
  treeCpuS(table: unknown, pid: number): number;
}

const load = async <T>(file: string): Promise<T> =>
  (await import(pathToFileURL(path.join(workspace, 'test/bench', file)).href)) as T;

const { lookAtMachine, cpuBetween, cpuAboveIdleS, measureIdle } = await load<MachineModule>('machine.mjs');
const { Meter } = await load<MeterModule>('meter.mjs');
const { readProcesses, treeCpuS } = await load<ProcModule>('proc.mjs');

/** No process has it. */
const NOBODY = 0;
const BURN_S = 1.5;
/** Uses so much CPU, says so, and stays. */
const BURN = `const end = () => process.cpuUsage().user + process.cpuUsage().system >= ${BURN_S * 1e6};
  while (!end()); console.log('burnt'); setTimeout(() => process.exit(), 60_000)`;
/** Its child outlives it: nobody will ever reap that one for the account of this process. */
const LEAVE = `const child = require('node:child_process').spawn(process.execPath, ['-e', process.argv[1]],
  { detached: true, stdio: ['ignore', 'inherit', 'ignore'] }); child.unref(); console.log(child.pid)`;

const left: number[] = [];
afterEach(() => left.splice(0).forEach((pid) => process.kill(pid, 'SIGKILL')));

/** Starts a process that leaves a busy one behind; resolves when that one has used its CPU. */
async function leaveBusyOrphan(): Promise<{ orphan: number; parent: number; whileBusy: { stop(): Reading } }> {
  const parent = spawn(process.execPath, ['-e', LEAVE, BURN], { stdio: ['ignore', 'pipe', 'inherit'] });
  const whileBusy = new Meter({ pid: parent.pid!, sitePid: NOBODY, withMemory: false });
  let said = '';
  parent.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  while (!said.includes('burnt')) {
    await sleep(20);
    if (parent.exitCode !== null && parent.exitCode !== 0) throw new Error('the process did not start');
  }
  const orphan = Number(said.split('\n')[0]);
  left.push(orphan);
  return { orphan, parent: parent.pid!, whileBusy };
}

describe('CPU of the whole machine', () => {
  const from: Look = { atMs: 1_000, busyS: 100, siteS: 10, benchS: 5 };

  it('is given to whoever is neither the site nor the bench', () => {
    const to: Look = { atMs: 11_000, busyS: 115, siteS: 12, benchS: 6 };
    expect(cpuBetween(from, to)).toMatchObject({ siteS: 2, benchS: 1, othersS: 12 });
  });

  it('is counted above what the idle machine uses, and never below nothing', () => {
    const to: Look = { atMs: 11_000, busyS: 115, siteS: 12, benchS: 6 };
    const { machineS } = cpuBetween(from, to);
    expect(cpuAboveIdleS(from, to, 0)).toBe(12);
    expect(cpuAboveIdleS(from, to, 2 / machineS)).toBeCloseTo(10, 6);
    expect(cpuAboveIdleS(from, to, 1)).toBe(Math.max(0, 12 - machineS));
  });

  it('holds what a process used that left the tree, which the tree no longer shows', async () => {
    const { orphan, parent, whileBusy } = await leaveBusyOrphan();
    const reading = whileBusy.stop();
    expect(treeCpuS(readProcesses(), parent)).toBe(0);
    expect(treeCpuS(readProcesses(), orphan)).toBeGreaterThan(BURN_S * 0.9);
    expect(reading.cpuS).toBeLessThan(BURN_S / 2);
    expect(reading.machineCpuS).toBeGreaterThan(BURN_S * 0.9);
  });

  it('leaves out exactly what the site used, whoever else works', async () => {
    const before = lookAtMachine(NOBODY);
    const { orphan } = await leaveBusyOrphan();
    const after = lookAtMachine(orphan);
    const asSite = cpuBetween(before, after);
    const asOther = cpuBetween(before, { ...after, siteS: before.siteS });
    expect(asSite.siteS).toBeGreaterThan(BURN_S * 0.9);
    expect(asSite.siteS).toBeLessThan(BURN_S * 1.3);
    expect(asOther.othersS - asSite.othersS).toBeCloseTo(asSite.siteS, 6);
  });

  it('leaves out what the bench itself used', async () => {
    const used = process.cpuUsage();
    const before = lookAtMachine(NOBODY);
    while (process.cpuUsage(used).user < 500_000);
    expect(cpuBetween(before, lookAtMachine(NOBODY)).benchS).toBeGreaterThan(0.45);
  });

  it('is a share of all cores while it is idle, and a reading says which share was taken off', async () => {
    const share = await measureIdle(NOBODY, 200);
    expect(share).toBeGreaterThanOrEqual(0);
    expect(share).toBeLessThanOrEqual(1.2);
    const meter = new Meter({ pid: process.pid, sitePid: NOBODY, idleShare: 1, withMemory: false });
    await sleep(200);
    expect(meter.stop()).toMatchObject({ idleShare: 1, machineCpuS: expect.closeTo(0, 0) });
  });
});
