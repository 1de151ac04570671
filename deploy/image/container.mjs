/** A command in a root as a restricted pod runs it: no writable root file system, no root, no capabilities, its own process table. */
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { containerCommand, joinCommand } from './machine.mjs';

const KEPT_OUTPUT = 20_000;
const START_MS = 90_000;
const LOOK_MS = 250;

/** @typedef {import('./build-root.mjs').Built} Built */
/** @typedef {{ image: Built, data: string, args: string[], env: Record<string, string> }} Wish */

export class Container {
  #output = '';
  /** @type {Promise<number>} */
  ended;

  /** @param {string} name @param {Wish} wish */
  constructor(name, { image, data, args, env }) {
    this.name = name;
    this.image = image;
    this.env = { ...image.env, ...env };
    const command = [...image.entrypoint, ...(args.length === 0 ? image.command : args)];
    const [program = '', ...words] = containerCommand(image.root, data, { ...image, env: this.env, command });
    this.child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (this.#output = (this.#output + text).slice(-KEPT_OUTPUT)));
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('exit', (code) => resolve(code ?? 128));
    });
  }

  /** What it wrote so far. */
  get output() {
    return this.#output;
  }

  /** The first process, as the machine numbers it; null when there is none yet, or none any more. @returns {number | null} */
  get pid() {
    try {
      const { pid } = this.child;
      const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
      return first ? Number(first) : null;
    } catch {
      return null;
    }
  }

  /** Runs a command inside. @param {string[]} command */
  exec(command) {
    const { pid } = this;
    if (pid === null) throw new Error(`${this.name} does not run:\n${this.output}`);
    const { user, cwd } = this.image;
    const [program = '', ...words] = joinCommand(pid, { user, cwd, env: this.env, command });
    const { status, stdout, stderr } = spawnSync(program, words, { encoding: 'utf8', timeout: 15_000 });
    return { status, said: `${stdout}${stderr}`.trim() };
  }

  /** Until the image's own health check passes. @returns {Promise<number>} after how many ms */
  async healthy() {
    const startedMs = performance.now();
    while (performance.now() - startedMs < START_MS) {
      if (this.child.exitCode !== null)
        throw new Error(`${this.name} ended with ${this.child.exitCode}:\n${this.output}`);
      if (this.pid !== null && this.exec(this.image.health).status === 0) return performance.now() - startedMs;
      await sleep(LOOK_MS);
    }
    throw new Error(`${this.name} was not healthy within ${START_MS / 1000} s:\n${this.output}`);
  }

  /** As an orchestrator does it: SIGTERM to the first process. @returns {Promise<number>} exit code */
  async stop() {
    const { pid } = this;
    if (pid !== null) process.kill(pid, 'SIGTERM');
    return this.ended;
  }

  /** At once; for ends that nobody waits for. */
  kill() {
    this.child.kill('SIGKILL');
  }
}
