/** Faults that are done to a running cluster, and what Prometheus makes of them: when each alert fires, and when it ends. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Alert, Prometheus } from './prometheus.js';

export interface Fault {
  /** What is wrong, in a few words. */
  what: string;
  /** Alerts that it must raise; labels where others may raise the same one. */
  alerts: { name: string; labels?: Record<string, string> }[];
  /** Resolves when the fault is there. */
  begin(): Promise<void>;
  /** Takes away the cause, and nothing else. */
  end(): Promise<void>;
}

/** How it went with one alert of a fault; null: it did not happen in time. */
export interface Course {
  alert: string;
  what: string;
  /** Seconds from the beginning of the fault. */
  firedS: number | null;
  /** Seconds from the end of the fault. */
  resolvedS: number | null;
}

const FIRE_MS = 120_000;
const RESOLVE_MS = 45_000;
const LOOK_MS = 500;

/** Waits until none of its alerts fires, does the fault until all of them do, and watches them end. */
export async function follow(fault: Fault, prometheus: Prometheus): Promise<Course[]> {
  const watched = fault.alerts.map((alert) => async () => isFiring(alert, await prometheus.alerts()));
  await Promise.all(watched.map((fires) => secondsUntil(async () => !(await fires()), RESOLVE_MS)));
  const fired = fault.begin().then(() => Promise.all(watched.map((fires) => secondsUntil(fires, FIRE_MS))));
  const firedS = await fired.finally(() => fault.end());
  const resolvedS = await Promise.all(watched.map((fires) => secondsUntil(async () => !(await fires()), RESOLVE_MS)));
  return fault.alerts.map(({ name }, i) => ({
    alert: name,
    what: fault.what,
    firedS: firedS[i] ?? null,
    resolvedS: resolvedS[i] ?? null,
  }));
}

function isFiring({ name, labels = {} }: Fault['alerts'][number], alerts: readonly Alert[]): boolean {
  const wanted = Object.entries({ alertname: name, ...labels });
  return alerts.some(
    (alert) => alert.state === 'firing' && wanted.every(([label, value]) => alert.labels[label] === value),
  );
}

async function secondsUntil(holds: () => Promise<boolean>, timeoutMs: number): Promise<number | null> {
  const startedMs = performance.now();
  while (!(await holds())) {
    if (performance.now() - startedMs > timeoutMs) return null;
    await sleep(LOOK_MS);
  }
  return (performance.now() - startedMs) / 1000;
}

/** One line a course, for people. */
export function courseTable(courses: readonly Course[]): string {
  const seconds = (s: number | null) => (s === null ? 'never' : `${s.toFixed(1)} s`);
  const rows = courses.map(({ alert, what, firedS, resolvedS }) => [alert, what, seconds(firedS), seconds(resolvedS)]);
  const table = [['alert', 'fault', 'fired after', 'ended after'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]!.length)));
  return table.map((row) => `    ${row.map((cell, i) => cell.padEnd(widths[i]!)).join('  ')}\n`).join('');
}
