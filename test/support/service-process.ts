/** A service beside those that the launcher of a cluster keeps: a spec starts and ends it when it likes. */
import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { workspace, type TestCluster } from './cluster.js';

export interface ServiceProcess {
  pid: number;
  /** Base of its health endpoints. */
  health: string;
  /** Address of a gateway. */
  url: string | undefined;
  /** Its output so far. */
  output(): string;
  /** Drains and ends it. */
  stop(): Promise<void>;
}

const KEPT_OUTPUT = 50_000;
const START_MS = 60_000;

/**
 * Starts one more process of an app on the Postgres and NATS of `cluster`, or those that `env` names; resolves when it is
 * ready.
 */
export async function startService(
  cluster: TestCluster,
  app: 'fetcher' | 'scheduler' | 'converter' | 'dispatcher' | 'gateway',
  env: Record<string, string> = {},
): Promise<ServiceProcess> {
  const { postgres, nats } = await cluster.record();
  const child = spawn(process.execPath, [path.join(workspace, `dist/apps/${app}/src/main.js`)], {
    cwd: workspace,
    env: {
      ...process.env,
      LOG_FORMAT: 'json',
      METRICS_PORT: '0',
      PORT: '0',
      DATABASE_URL: postgres,
      NATS_URL: nats,
      ...(app === 'gateway' ? { TROUPE_BOOTSTRAP_KEYS: `default:${cluster.apiKey}` } : {}),
      ...env,
      TROUPE_DATA_DIR: cluster.dataDir,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  const keep = (text: string) => (output = (output + text).slice(-KEPT_OUTPUT));
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', keep);
  const { health, url } = await untilReady(child, () => `${app} did not become ready:\n${output}`);
  return { pid: child.pid!, health, url, output: () => output, stop: () => end(child) };
}

interface Ready {
  health: string;
  url?: string;
}

function untilReady(child: ChildProcess, complaint: () => string): Promise<Ready> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error(complaint()));
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      fail();
    }, START_MS);
    child.once('exit', () => {
      clearTimeout(timer);
      fail();
    });
    child.on('message', ({ type, health = '', url }: { type?: string; health?: string; url?: string }) => {
      if (type !== 'ready') return;
      clearTimeout(timer);
      resolve({ health, url });
    });
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
}
