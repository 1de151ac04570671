/** Is a cluster as well as it was? Same processes, all of them ready, and none of them grown fat. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningCluster } from '../support/cluster.js';

export async function pidsOf(cluster: RunningCluster): Promise<Record<string, number | null>> {
  const processes = await cluster.processes();
  return Object.fromEntries(processes.map(({ name, pid }) => [name, pid]));
}

/** Answer of each readiness probe: name -> `200 ok`. */
export async function readinessOf(cluster: RunningCluster): Promise<Record<string, string>> {
  const services = (await cluster.processes()).filter(({ health }) => health !== null);
  const answers = services.map(async ({ name, health }) => {
    const response = await fetch(`${health}/health/readiness`);
    const { status } = (await response.json()) as { status: string };
    return [name, `${response.status} ${status}`] as const;
  });
  return Object.fromEntries(await Promise.all(answers));
}

/** Resident memory of a process in MB. */
export async function residentMb(cluster: RunningCluster, name: string): Promise<number> {
  const { [name]: pid } = await pidsOf(cluster);
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? NaN) / 1024;
}

/** Resolves with the resident memory once it is at most `limitMb`, or with what it is after `timeoutMs`. */
export async function settledMb(
  cluster: RunningCluster,
  name: string,
  limitMb: number,
  timeoutMs = 20_000,
): Promise<number> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const megabytes = await residentMb(cluster, name);
    if (megabytes <= limitMb || performance.now() > deadlineMs) return megabytes;
    await sleep(500);
  }
}
