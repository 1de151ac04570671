/**
 * Keeps one process alive: start, wait until it is ready, restart with backoff when it ends unasked, stop in order.
 */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { LogFile, readLines } from './logs.mjs';
import { withOpenFolder } from './parts/owner.mjs';
import { startTimeOf } from './records.mjs';

const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 10_000;
/** After this time in health the next failure starts with the short backoff again. */
const HEALTHY_AFTER_MS = 30_000;
const EXIT_BAD_CONFIG = 78;
const GUARD = path.join(path.dirname(fileURLToPath(import.meta.url)), 'guard.sh');

/**
 * @typedef {object} Launched
 * @property {import('node:child_process').ChildProcess} child what the keeper spawned; its end is the end of the process
 * @property {() => number | undefined} pid of the process itself
 * @property {Promise<object>} ready rejects when it cannot become ready
 * @property {() => void} stop asks the process to end
 * @property {() => void} kill ends it at once, with everything of it
 */

/**
 * @typedef {object} Recipe
 * @property {string} name
 * @property {string} command
 * @property {string[]} args
 * @property {string} cwd
 * @property {Record<string, string | undefined>} env
 * @property {string} logFile
 * @property {number} graceMs from the request to stop until SIGKILL
 * @property {(recipe: Recipe) => Promise<Launched> | Launched} launch
 */

/** Ends a process and what it started; also right after its own end. @param {import('node:child_process').ChildProcess} child */
function killGroup(child) {
  if (child.pid !== undefined) killQuietly(-child.pid);
}

/** A service: node with an IPC channel, in a process group of its own; it says itself when it is ready. @param {Recipe} recipe @returns {Launched} */
export function launchService(recipe) {
  const child = spawn(recipe.command, recipe.args, {
    cwd: recipe.cwd,
    env: recipe.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const ready = new Promise((resolve) => {
    child.on('message', (/** @type {any} */ message) => message?.type === 'ready' && resolve(message));
  });
  return {
    child,
    pid: () => child.pid,
    ready,
    stop: () => void child.kill('SIGTERM'),
    kill: () => killGroup(child),
  };
}

/**
 * @typedef {object} GuardedHow
 * @property {string} signal that ends it in good order
 * @property {{ uid: number, gid: number }} [owner]
 * @property {string | null} [door] of its folder, see `ownedFolder`
 * @property {() => Promise<boolean>} isReady
 */

/** The guard is read from an open file: its user may have no way to this folder. @param {GuardedHow} how @param {Recipe} recipe */
function spawnGuard(how, recipe) {
  const grace = String(Math.ceil(recipe.graceMs / 1000));
  const guard = openSync(GUARD, 'r');
  try {
    return withOpenFolder(how.door ?? null, [guard, 'pipe', 'pipe', 'pipe', 'pipe'], (stdio) =>
      spawn('/bin/sh', ['-s', how.signal, grace, recipe.command, ...recipe.args], {
        cwd: recipe.cwd,
        env: recipe.env,
        uid: how.owner?.uid,
        gid: how.owner?.gid,
        detached: true,
        stdio,
      }),
    );
  } finally {
    closeSync(guard);
  }
}

/**
 * A server of another make (Postgres, NATS), under `guard.sh`.
 *
 * @param {GuardedHow} how
 * @returns {(recipe: Recipe) => Launched}
 */
export function launchGuarded(how) {
  return (recipe) => {
    const child = spawnGuard(how, recipe);
    const lifeline = /** @type {import('node:stream').Writable} */ (child.stdio[3]);
    lifeline.on('error', () => undefined);
    let pid = /** @type {number | undefined} */ (undefined);
    readLines(/** @type {import('node:stream').Readable} */ (child.stdio[4]), (line) => (pid = Number(line)));
    return {
      child,
      pid: () => pid,
      ready: waitUntil(() => pid !== undefined && how.isReady(), child),
      stop: () => lifeline.destroy(),
      kill: () => killGroup(child),
    };
  };
}

/** @param {() => Promise<boolean> | boolean} isReady @param {import('node:child_process').ChildProcess} child @returns {Promise<object>} */
async function waitUntil(isReady, child) {
  while (!(await isReady())) {
    if (child.exitCode !== null || child.signalCode !== null) return new Promise(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {};
}

export class Keeper {
  /** @type {Launched | null} */
  #launched = null;
  #log;
  #wanted = false;
  #backoffMs = FIRST_BACKOFF_MS;
  #failures = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {Promise<void>} */
  #gone = Promise.resolve();
  /** The line that the process wrote when it became ready. @type {any} */
  readiness = null;
  restarts = 0;

  /**
   * @param {Recipe} recipe
   * @param {{ onLine: (name: string, line: string) => void, onChange: () => void, tell: (text: string) => void }} watch
   */
  constructor(recipe, watch) {
    this.recipe = recipe;
    this.watch = watch;
    this.#log = new LogFile(recipe.logFile);
  }

  get name() {
    return this.recipe.name;
  }

  get pid() {
    return this.#launched?.pid() ?? null;
  }

  /**
   * Resolves when the process is ready for the first time. Rejects when it fails five times before, when its settings
   * are refused, or after `timeoutMs`.
   *
   * @param {number} timeoutMs
   * @returns {Promise<void>}
   */
  start(timeoutMs) {
    this.#wanted = true;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#giveUp(`was not ready within ${timeoutMs / 1000} s`), timeoutMs);
      this.settle = (/** @type {string | null} */ reason) => {
        clearTimeout(timer);
        this.settle = null;
        if (reason === null) return resolve();
        const tail = this.#log.lastLines().slice(-12);
        reject(new Error([`${this.name} ${reason}. Its last lines (${this.recipe.logFile}):`, ...tail].join('\n    ')));
      };
      void this.#launch();
    });
  }

  /** @type {((reason: string | null) => void) | null} */
  settle = null;

  /** @param {string} reason */
  #giveUp(reason) {
    this.#wanted = false;
    clearTimeout(this.#timer);
    this.settle?.(reason);
  }

  async #launch() {
    try {
      this.#launched = await this.recipe.launch(this.recipe);
    } catch (error) {
      this.#log.write(String(error));
      return this.#retry(`could not be started: ${error instanceof Error ? error.message : error}`);
    }
    const launched = this.#launched;
    if (!this.#wanted) launched.kill();
    const bornMs = performance.now();
    readLines(launched.child.stdout, (line) => this.#onLine(line));
    readLines(launched.child.stderr, (line) => this.#onLine(line));
    this.#gone = new Promise((resolve) => {
      let over = false;
      const end = (/** @type {number | null} */ code, /** @type {string | null} */ signal) => {
        if (over) return;
        over = true;
        resolve();
        this.#ended(code, signal, performance.now() - bornMs);
      };
      launched.child.once('exit', end);
      launched.child.once('error', (error) => {
        this.#log.write(String(error));
        if (launched.child.pid === undefined) end(null, error.message);
      });
    });
    void launched.ready.then((message) => this.#becameReady(launched, message));
    this.watch.onChange();
  }

  /** @param {Launched} launched @param {object} message */
  #becameReady(launched, message) {
    if (launched !== this.#launched) return;
    this.readiness = message;
    this.#failures = 0;
    if (this.restarts > 0) this.watch.tell(`${this.name} is back (pid ${this.pid})`);
    this.watch.onChange();
    this.settle?.(null);
  }

  /** @param {string} line */
  #onLine(line) {
    this.#log.write(line);
    this.watch.onLine(this.name, line);
  }

  /** @param {number | null} code @param {string | null} signal @param {number} livedMs */
  #ended(code, signal, livedMs) {
    // The guard may have been killed alone; the server must not go on without it.
    const pid = this.#launched?.pid();
    this.#launched?.kill();
    if (pid !== undefined) killQuietly(pid);
    this.#launched = null;
    this.readiness = null;
    this.watch.onChange();
    if (!this.#wanted) return;
    const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
    if (code === EXIT_BAD_CONFIG && this.settle !== null) return this.#giveUp('refused its settings');
    if (livedMs >= HEALTHY_AFTER_MS) this.#backoffMs = FIRST_BACKOFF_MS;
    this.#retry(how);
  }

  /** @param {string} how */
  #retry(how) {
    if (!this.#wanted) return;
    if (++this.#failures >= 5 && this.settle !== null) return this.#giveUp(`${how}, five times`);
    const inMs = this.#backoffMs;
    this.#backoffMs = Math.min(inMs * 2, MAX_BACKOFF_MS);
    this.restarts++;
    this.watch.tell(`${this.name} ${how}; again in ${inMs} ms`);
    this.#timer = setTimeout(() => void this.#launch(), inMs);
  }

  /** Asks the process to end, so that it is started anew. @param {string} why */
  renew(why) {
    if (!this.#wanted || this.#launched === null) return;
    this.watch.tell(`${this.name} is started anew: ${why}`);
    this.#launched.stop();
  }

  /** Asks the process to end and waits for it; SIGKILL after its grace time. */
  async stop() {
    this.#wanted = false;
    clearTimeout(this.#timer);
    const launched = this.#launched;
    if (launched !== null) {
      const timer = setTimeout(() => {
        this.watch.tell(`${this.name} did not stop in ${this.recipe.graceMs / 1000} s and is killed`);
        this.kill();
      }, this.recipe.graceMs + 1_500);
      launched.stop();
      await this.#gone;
      clearTimeout(timer);
    }
  }

  kill() {
    this.#wanted = false;
    clearTimeout(this.#timer);
    const pid = this.#launched?.pid();
    this.#launched?.kill();
    if (pid !== undefined) killQuietly(pid);
  }

  /** For `cluster.json`: names of environment variables only, never values. */
  describe() {
    const { name, command, args, cwd, env, logFile } = this.recipe;
    return {
      name,
      pid: this.pid,
      birth: this.pid === null ? null : startTimeOf(this.pid),
      command: [command, ...args],
      cwd,
      env: Object.keys(env).sort(),
      log: logFile,
      ready: this.readiness !== null,
      restarts: this.restarts,
      health: this.readiness?.health ?? null,
    };
  }
}

/** @param {number} pid */
function killQuietly(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    return;
  }
}
