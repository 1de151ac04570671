/** A nats-server of a test's own, that can be killed and started again on the same port. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../support/free-port.js';

export interface TestNatsOptions {
  /** `max_payload` of the configuration. @default '8MB' */
  maxPayload?: string;
  /** Further lines of the configuration. @default none */
  lines?: string;
  /** @default true */
  jetStream?: boolean;
}

export class TestNatsServer {
  private child: ChildProcess | null = null;

  private constructor(
    private readonly binary: string,
    private readonly dir: string,
    readonly port: number,
  ) {}

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  static async start(options: TestNatsOptions = {}): Promise<TestNatsServer> {
    const binary = process.env.TEST_NATS_SERVER;
    if (binary === undefined || binary === '')
      throw new Error('TEST_NATS_SERVER names no nats-server: see README.md of this folder');
    const dir = mkdtempSync(path.join(tmpdir(), 'troupe-nats-'));
    const server = new TestNatsServer(binary, dir, await freePort());
    server.configure(options);
    await server.up();
    return server;
  }

  /** Takes effect at the next `up`. */
  configure({ maxPayload = '8MB', lines = '', jetStream = true }: TestNatsOptions): void {
    const store = jetStream ? `jetstream { store_dir: "${path.join(this.dir, 'store')}" }\n` : '';
    const text = `listen: "127.0.0.1:${this.port}"\nmax_payload: ${maxPayload}\n${store}${lines}`;
    writeFileSync(path.join(this.dir, 'nats.conf'), text);
  }

  async up(): Promise<void> {
    this.child = spawn(this.binary, ['-c', path.join(this.dir, 'nats.conf')], { stdio: 'ignore' });
    for (let n = 0; n < 200; n++) {
      if (await accepts(this.port)) return;
      await sleep(25);
    }
    throw new Error(`nats-server did not listen on ${this.port}`);
  }

  async kill(): Promise<void> {
    const child = this.child;
    this.child = null;
    if (child === null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
  }

  wipe(): void {
    rmSync(path.join(this.dir, 'store'), { recursive: true, force: true });
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
