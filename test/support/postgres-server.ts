/** A Postgres of a test's own that insists on TLS, and a pooler in front of it. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
  chmodSync,
  appendFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { TEST_CERT, TEST_KEY } from '@troupe/testing';
import { workspace } from './cluster.js';
import { freePort } from './free-port.js';

interface Owner {
  uid: number;
  gid: number;
}
interface PreparedPostgres {
  command: string;
  args: string[];
  data: string;
  owner: Owner | undefined;
  door: string | null;
  url: string;
}
/** How `npm start` sets up its own. */
interface PostgresPart {
  preparePostgres(wish: { dir: string; port: number; password: string }): Promise<PreparedPostgres>;
}
interface OwnerPart {
  withOpenFolder<T>(door: string | null, stdio: ('ignore' | number)[], start: (stdio: ('ignore' | number)[]) => T): T;
}

const PASSWORD = 'pg-s3cret';
const START_MS = 30_000;
const INSTALL_MS = 180_000;
const SBIN = '/usr/sbin/pgbouncer';

async function until(isTrue: () => Promise<boolean> | boolean, complaint: () => string): Promise<void> {
  const untilMs = performance.now() + START_MS;
  while (!(await isTrue())) {
    if (performance.now() > untilMs) throw new Error(complaint());
    await sleep(50);
  }
}

function gone(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function end(child: ChildProcess | null, signal: NodeJS.Signals): Promise<void> {
  if (child === null || gone(child)) return;
  const left = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await left;
}

async function load<T>(part: string): Promise<T> {
  return (await import(pathToFileURL(path.join(workspace, 'deploy/local/parts', part)).href)) as T;
}

export class TlsPostgres {
  private child: ChildProcess | null = null;

  private constructor(
    readonly dir: string,
    readonly port: number,
    readonly caFile: string,
    readonly prepared: PreparedPostgres,
    private readonly part: OwnerPart,
  ) {}

  static async start(): Promise<TlsPostgres> {
    const part = await load<PostgresPart>('postgres.mjs');
    const dir = mkdtempSync(path.join(tmpdir(), 'troupe-postgres-'));
    chmodSync(dir, 0o755);
    const port = await freePort();
    const prepared = await part.preparePostgres({ dir: path.join(dir, 'pg'), port, password: PASSWORD });
    const caFile = path.join(dir, 'ca.pem');
    writeFileSync(caFile, TEST_CERT);
    const { data, owner } = prepared;
    ownFile(path.join(data, 'server.crt'), TEST_CERT, owner);
    ownFile(path.join(data, 'server.key'), TEST_KEY, owner);
    appendFileSync(path.join(data, 'troupe.conf'), 'ssl = on\n');
    const rules = path.join(data, 'pg_hba.conf');
    writeFileSync(rules, readFileSync(rules, 'utf8').replaceAll(/^host /gm, 'hostssl '));
    const server = new TlsPostgres(dir, port, caFile, prepared, await load<OwnerPart>('owner.mjs'));
    await server.up();
    return server;
  }

  /** With the authority that signed its certificate. */
  get url(): string {
    return `postgresql://troupe:${PASSWORD}@localhost:${this.port}/troupe?sslmode=verify-full&sslrootcert=${this.caFile}`;
  }

  async up(): Promise<void> {
    const { command, args, owner, door } = this.prepared;
    const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
    this.child = this.part.withOpenFolder(door, ['ignore', 'ignore', 'ignore'], (stdio) =>
      spawn(command, args, { uid: owner?.uid, gid: owner?.gid, cwd: '/', env, stdio }),
    );
    const { child } = this;
    await until(
      () => !gone(child) && answers(this.port),
      () => `Postgres with TLS did not start on port ${this.port}`,
    );
  }

  /** Ends every connection. */
  down(): Promise<void> {
    return end(this.child, 'SIGINT');
  }

  async stop(): Promise<void> {
    await this.down();
    rmSync(this.dir, { recursive: true, force: true });
    rmSync(path.dirname(this.prepared.data), { recursive: true, force: true });
  }
}

/** Whether the server speaks TLS, asked in its own protocol. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])));
    const tell = (isUp: boolean) => {
      socket.destroy();
      resolve(isUp);
    };
    socket.once('data', (answer) => tell(answer[0] === 'S'.charCodeAt(0)));
    socket.once('error', () => tell(false));
    socket.once('close', () => tell(false));
  });
}

function ownFile(file: string, text: string, owner: Owner | undefined): void {
  writeFileSync(file, text, { mode: 0o600 });
  if (owner !== undefined) chownSync(file, owner.uid, owner.gid);
}

/** Whether PgBouncer can be run; installs Debian's package where it may, and says loudly when there is none. */
export function hasPooler(): boolean {
  if (existsSync(SBIN)) return true;
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    // The package would start a pooler of its own.
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
    const run = (...words: string[]) =>
      spawnSync('apt-get', words, { stdio: 'ignore', env, timeout: INSTALL_MS }).status;
    const install = () => run('install', '-y', '--no-install-recommends', 'pgbouncer');
    if (install() !== 0 && run('update') === 0) install();
    if (existsSync(SBIN)) return true;
  }
  process.stderr.write('troupe    | SKIPPED: there is no pgbouncer here; Postgres behind a pooler is not tried\n');
  return false;
}

/** PgBouncer in transaction mode: TLS from its clients, and TLS to Postgres. */
export class Pooler {
  private constructor(
    private readonly dir: string,
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(postgres: TlsPostgres): Promise<Pooler> {
    const dir = mkdtempSync(path.join(tmpdir(), 'troupe-pooler-'));
    chmodSync(dir, 0o755);
    const { owner } = postgres.prepared;
    const port = await freePort();
    const at = (name: string) => path.join(dir, name);
    ownFile(at('users'), `"troupe" "${PASSWORD}"\n`, owner);
    ownFile(at('cert.pem'), TEST_CERT, owner);
    ownFile(at('key.pem'), TEST_KEY, owner);
    ownFile(
      at('pgbouncer.ini'),
      `[databases]
troupe = host=localhost port=${postgres.port} dbname=troupe
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${at('users')}
pool_mode = transaction
default_pool_size = 12
max_client_conn = 200
client_tls_sslmode = require
client_tls_cert_file = ${at('cert.pem')}
client_tls_key_file = ${at('key.pem')}
server_tls_sslmode = verify-full
server_tls_ca_file = ${at('cert.pem')}
`,
      owner,
    );
    const child = spawn(SBIN, [at('pgbouncer.ini')], {
      uid: owner?.uid,
      gid: owner?.gid,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-20_000)));
    await until(
      () => !gone(child) && answers(port),
      () => `PgBouncer did not start:\n${said}`,
    );
    const url = `postgresql://troupe:${PASSWORD}@localhost:${port}/troupe?sslmode=verify-full&sslrootcert=${postgres.caFile}`;
    return new Pooler(dir, child, url);
  }

  async stop(): Promise<void> {
    await end(this.child, 'SIGTERM');
    rmSync(this.dir, { recursive: true, force: true });
  }
}
