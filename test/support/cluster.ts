/** A whole throwaway cluster for a spec: its own data folder, its own ports, gone afterwards. */
import { spawn, type ChildProcess } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The workspace; specs run from `dist/test/…`. */
export const workspace = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');

export interface ClusterProcess {
  /** `gateway`, `scheduler`, `fetcher`, `fetcher-2`, …, `postgres`, `nats-server`. */
  name: string;
  /** null while it is being restarted. */
  pid: number | null;
  command: string[];
  cwd: string;
  env: string[];
  log: string;
  ready: boolean;
  restarts: number;
  /** Base of the health endpoints, null for Postgres and NATS. */
  health: string | null;
}

/** `run/cluster.json`. */
export interface ClusterRecord {
  state: 'starting' | 'ready' | 'stopping';
  url: string;
  gateways: string[];
  apiKeyFile: string;
  /** With credentials. */
  postgres: string;
  nats: string;
  launcher: number;
  processes: ClusterProcess[];
}

export interface ClusterOptions {
  /** Settings on top of the environment of the test run. */
  env?: Record<string, string>;
  /** Arguments of `npm start`, e.g. `['--fetchers', '2']`. A converter runs where it is named or CONVERTER is `service`. */
  args?: string[];
  /** Kept on `stop` when given; else a temporary folder that `stop` removes. */
  dataDir?: string;
  /** @default 120000 */
  timeoutMs?: number;
}

export interface RunningCluster {
  url: string;
  apiKey: string;
  dataDir: string;
  record(): Promise<ClusterRecord>;
  processes(): Promise<ClusterProcess[]>;
  /** Sends a signal to one process by its name and returns its pid. */
  signal(name: string, signal: NodeJS.Signals): Promise<number>;
  /** Resolves when the process runs under another pid than `oldPid` and is ready. */
  waitForRestart(name: string, oldPid: number, timeoutMs?: number): Promise<void>;
}

export interface TestCluster extends RunningCluster {
  launcher: ChildProcess;
  /** Output of the launcher and the services so far, for messages of failed tests. */
  output(): string;
  stop(): Promise<void>;
}

const KEPT_OUTPUT = 200_000;

function testEnvironment(overrides: Record<string, string> = {}): NodeJS.ProcessEnv {
  const {
    DATABASE_URL: _database,
    NATS_URL: _nats,
    TROUPE_BOOTSTRAP_KEYS: _keys,
    npm_lifecycle_event: _npm,
    ...inherited
  } = process.env;
  // Most specs watch what reaches a site: those about the cache switch it on.
  return { ...inherited, PORT: '0', LOG_LEVEL: 'info', CACHE_MAX_MB: '0', ...overrides };
}

/** Fetchers convert pages themselves unless they are told otherwise: a converter beside them would cost 2 s of CPU and idle. */
function argumentsOf({ args = [], env = {} }: ClusterOptions): string[] {
  return env.CONVERTER === 'service' || args.includes('--converters') ? args : [...args, '--converters', '0'];
}

/** Rejects with everything that was written when the launcher ends or stays silent. */
function waitForReadyLine(
  launcher: ChildProcess,
  output: () => string,
  timeoutMs: number,
): Promise<{ url: string; apiKey: string }> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => reject(new Error(`the cluster ${reason}:\n${output()}`));
    const timer = setTimeout(() => fail(`was not ready within ${timeoutMs} ms`), timeoutMs);
    let line = '';
    launcher.stdout?.setEncoding('utf8').on('data', (text: string) => {
      line += text;
      if (!line.includes('\n')) return;
      clearTimeout(timer);
      resolve(JSON.parse(line) as { url: string; apiKey: string });
    });
    launcher.once('exit', (code) => {
      clearTimeout(timer);
      fail(`ended with exit code ${code}`);
    });
  });
}

/** Open to enter: as root, Postgres runs as another user. */
async function makeDataDir(): Promise<string> {
  const dir = await mkdtemp(path.join(tmpdir(), 'troupe-cluster-'));
  await chmod(dir, 0o755);
  return dir;
}

/** Starts `deploy/local/start.mjs --json` and resolves when every process of the cluster is ready. */
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  const dataDir = options.dataDir ?? (await makeDataDir());
  const start = path.join(workspace, 'deploy/local/start.mjs');
  const launcher = spawn(
    process.execPath,
    [start, '--json', '--no-build', '--data-dir', dataDir, ...argumentsOf(options)],
    {
      cwd: workspace,
      env: testEnvironment(options.env),
      // The channel tells the launcher when this process dies, however it dies.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    },
  );
  let output = '';
  launcher.stderr?.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-KEPT_OUTPUT)));
  const stop = async (): Promise<void> => {
    await endLauncher(launcher);
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const { url, apiKey } = await waitForReadyLine(launcher, () => output, options.timeoutMs ?? 120_000);
    return { url, apiKey, dataDir, launcher, output: () => output, stop, ...observe(dataDir) };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A cluster that another process started and ends. */
export function joinCluster(where: Pick<RunningCluster, 'url' | 'apiKey' | 'dataDir'>): RunningCluster {
  return { ...where, ...observe(where.dataDir) };
}

/** The cluster keeps this process no longer from its end, and ends with it. */
export function keepForProcess({ launcher }: TestCluster): void {
  launcher.unref();
  launcher.channel?.unref();
  for (const stream of [launcher.stdout, launcher.stderr]) (stream as Socket | null)?.unref();
}

async function endLauncher(launcher: ChildProcess): Promise<void> {
  if (launcher.exitCode !== null || launcher.signalCode !== null) return;
  const gone = new Promise((resolve) => launcher.once('exit', resolve));
  launcher.kill('SIGTERM');
  await gone;
}

function observe(dataDir: string): Omit<RunningCluster, 'url' | 'apiKey' | 'dataDir'> {
  const record = async (): Promise<ClusterRecord> =>
    JSON.parse(await readFile(path.join(dataDir, 'run/cluster.json'), 'utf8')) as ClusterRecord;
  const find = async (name: string): Promise<ClusterProcess> => {
    const { processes } = await record();
    const found = processes.find((entry) => entry.name === name);
    if (found === undefined)
      throw new Error(`no process ${name}, only ${processes.map((entry) => entry.name).join(', ')}`);
    return found;
  };
  return {
    record,
    processes: async () => (await record()).processes,
    async signal(name, signal) {
      const { pid } = await find(name);
      if (pid === null) throw new Error(`${name} does not run right now`);
      process.kill(pid, signal);
      return pid;
    },
    async waitForRestart(name, oldPid, timeoutMs = 30_000) {
      const deadlineMs = performance.now() + timeoutMs;
      while (performance.now() < deadlineMs) {
        const { pid, ready } = await find(name);
        if (ready && pid !== null && pid !== oldPid) return;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      throw new Error(`${name} was not back within ${timeoutMs} ms`);
    },
  };
}
