/** A real OTLP collector of this machine, or from PyPI; null with one loud line where neither is to be had. */
import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { findCollector } from '../clients/packages.js';
import { freePort } from '../support/free-port.js';

const START_MS = 20_000;

export interface Collector {
  /** Where traces are sent to. */
  url: string;
  stop(): Promise<void>;
}

/** Takes OTLP over HTTP and sends it on to `target`, as a collector of an operator would. */
export async function startCollector(target: string): Promise<Collector | null> {
  const program = await findCollector();
  if (program === null) return null;
  const [http, grpc] = [await freePort(), await freePort()];
  const child = spawn(
    program,
    [
      'start',
      `--otlp-http-endpoint=127.0.0.1:${http}`,
      `--otlp-grpc-endpoint=127.0.0.1:${grpc}`,
      '--exporter=otlp',
      '--otlp-exporter-protocol=http',
      `--otlp-exporter-endpoint=${target}`,
      '--batch-timeout=200ms',
    ],
    { stdio: 'ignore' },
  );
  const url = `http://127.0.0.1:${http}`;
  await isUp(child, url);
  return { url, stop: () => ended(child) };
}

async function isUp(child: ChildProcess, url: string): Promise<void> {
  const deadlineMs = performance.now() + START_MS;
  for (;;) {
    const answers = await fetch(url).then(
      () => true,
      () => false,
    );
    if (answers) return;
    if (child.exitCode !== null) throw new Error(`the collector ended with ${child.exitCode}`);
    if (performance.now() > deadlineMs) throw new Error('the collector did not start');
    await sleep(100);
  }
}

async function ended(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  for (let tries = 0; child.exitCode === null && child.signalCode === null && tries < 100; tries++) await sleep(50);
  child.kill('SIGKILL');
}
