/** Troupe as its users run it: one command, then its HTTP API. */
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from '../../deploy/local/places.mjs';
import { HttpClient } from './http.mjs';

const START_MS = 300_000;
const JOB_MS = 1_800_000;
const SETTINGS = {
  PORT: '0',
  HOST_GAP_MS: '0',
  HOST_MAX_CONN: '32',
  TEAM_CONCURRENCY: '100',
  ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
  LOG_FORMAT: 'json',
};
/** Would lead the cluster away from its own fresh state. */
const OUTSIDE = new Set(['DATABASE_URL', 'NATS_URL', 'TROUPE_DATA_DIR', 'TROUPE_BOOTSTRAP_KEYS', 'HOST', 'AUTH_MODE']);

/** @param {Record<string, string>} settings */
function environment(settings) {
  const inherited = Object.entries(process.env).filter(([name]) => !OUTSIDE.has(name) && !name.startsWith('npm_'));
  return { ...Object.fromEntries(inherited), ...SETTINGS, ...settings };
}

/** @param {import('node:child_process').ChildProcess} launcher @returns {Promise<{ url: string, apiKey: string }>} */
function waitUntilReady(launcher) {
  return new Promise((resolve, reject) => {
    let errors = '';
    launcher.stderr?.setEncoding('utf8').on('data', (text) => (errors = (errors + text).slice(-20_000)));
    const fail = (/** @type {string} */ reason) => reject(new Error(`the cluster ${reason}:\n${errors}`));
    const timer = setTimeout(() => fail('was not ready in time'), START_MS);
    launcher.once('exit', (code) => fail(`ended with exit code ${code}`));
    let line = '';
    launcher.stdout?.setEncoding('utf8').on('data', (text) => {
      line += text;
      if (!line.includes('\n')) return;
      clearTimeout(timer);
      resolve(JSON.parse(line));
    });
  });
}

/** @param {{ build: boolean, keep: boolean, settings?: Record<string, string> }} options */
export async function startTroupe({ build, keep, settings = {} }) {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'troupe-bench-'));
  chmodSync(dataDir, 0o755); // as root, Postgres runs as another user that must get in
  const args = ['--json', ...(build ? [] : ['--no-build']), '--data-dir', dataDir];
  const launcher = spawn(process.execPath, [path.join(root, 'deploy/local/start.mjs'), ...args], {
    cwd: root,
    env: environment(settings),
    // The channel tells the launcher when this process dies, however it dies.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  try {
    const { url, apiKey } = await waitUntilReady(launcher);
    return new Troupe({ launcher, url, apiKey, dataDir, keep });
  } catch (error) {
    launcher.kill('SIGTERM');
    if (!keep) rmSync(dataDir, { recursive: true, force: true });
    throw error;
  }
}

export class Troupe {
  /** @param {{ launcher: import('node:child_process').ChildProcess, url: string, apiKey: string, dataDir: string, keep: boolean }} parts */
  constructor({ launcher, url, apiKey, dataDir, keep }) {
    this.launcher = launcher;
    this.pid = Number(launcher.pid);
    this.url = url;
    this.dataDir = dataDir;
    this.keep = keep;
    this.headers = { authorization: `Bearer ${apiKey}` };
    this.client = new HttpClient({ sockets: 4, headers: this.headers });
  }

  #record() {
    return JSON.parse(readFileSync(path.join(this.dataDir, 'run/cluster.json'), 'utf8'));
  }

  /** Process ids by name: gateway, scheduler, fetcher, …, postgres, nats-server. @returns {Record<string, number>} */
  processes() {
    const running = this.#record().processes.filter((/** @type {any} */ entry) => entry.pid !== null);
    return Object.fromEntries(running.map((/** @type {any} */ entry) => [entry.name, entry.pid]));
  }

  /** With credentials. @returns {string} */
  databaseUrl() {
    return this.#record().postgres;
  }

  /** How often processes had to be started again; figures of such a run mean nothing. @returns {number} */
  restarts() {
    return this.#record().processes.reduce(
      (/** @type {number} */ sum, /** @type {any} */ entry) => sum + entry.restarts,
      0,
    );
  }

  /** @param {'crawl' | 'batch/scrape'} kind @param {object} body @returns {Promise<string>} path of the job */
  async submit(kind, body) {
    const { status, text } = await this.client.ask(`${this.url}/v2/${kind}`, body);
    if (status !== 200) throw new Error(`${kind} was answered with ${status}: ${text.slice(0, 500)}`);
    return `/v2/${kind}/${JSON.parse(text).id}`;
  }

  /** @param {string} address path, or absolute as `next` is @returns {Promise<any>} */
  async read(address) {
    const { status, text } = await this.client.ask(new URL(address, this.url).href);
    if (status !== 200) throw new Error(`${address} was answered with ${status}: ${text.slice(0, 500)}`);
    return JSON.parse(text);
  }

  /** Polls until the job is over. @param {string} job @param {(completed: number) => void} onProgress */
  async waitForEnd(job, onProgress) {
    const deadlineMs = performance.now() + JOB_MS;
    for (;;) {
      const { status, completed } = await this.read(`${job}?limit=1`);
      onProgress(completed);
      if (status !== 'scraping') return { status, completed };
      if (performance.now() > deadlineMs) throw new Error(`${job} was not over in time: ${completed} pages`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  /** All documents of a job, page by page. @param {string} job @returns {AsyncGenerator<any>} */
  async *documents(job) {
    let next = /** @type {string | undefined} */ (job);
    while (next) {
      const page = await this.read(next);
      yield* page.data;
      next = page.data.length > 0 ? page.next : undefined;
    }
  }

  async stop() {
    this.client.close();
    if (this.launcher.exitCode === null && this.launcher.signalCode === null) {
      const gone = new Promise((resolve) => this.launcher.once('exit', resolve));
      this.launcher.kill('SIGTERM');
      await gone;
    }
    if (!this.keep) rmSync(this.dataDir, { recursive: true, force: true });
  }
}
