import { describe, expect, it } from '@jest/globals';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { deflateRawSync } from 'node:zlib';
import { workspace } from './cluster.js';

type ChoosePort = (host: string, remembered?: number, range?: { from: number; to: number }) => Promise<number>;

const local = (file: string): string => path.join(workspace, 'deploy/local', file);

async function load<T>(file: string): Promise<T> {
  return (await import(pathToFileURL(local(file)).href)) as T;
}

function launch(...args: string[]): { code: number | null; out: string; err: string } {
  const run = spawnSync(process.execPath, [local('start.mjs'), ...args], {
    encoding: 'utf8',
    timeout: 20_000,
    env: { ...process.env, PORT: '0' },
  });
  return { code: run.status, out: run.stdout, err: run.stderr };
}

describe('the command line', () => {
  it('explains itself and its exit codes', () => {
    const { code, out } = launch('--help');
    expect(code).toBe(0);
    expect(out).toMatch(/crawl <url>.*--fetchers.*Exit codes/s);
  });

  it.each([
    [['--nope'], 'no option --nope'],
    [['dance'], 'no command "dance"'],
    [['crawl'], 'crawl needs the address'],
    [['crawl', 'ftp://a'], 'not an http or https address'],
    [['crawl', 'http://a', 'http://b'], '"http://b" is one word too many'],
    [['scrape', 'http://a', '--limit', '3'], '--limit belongs to crawl and map'],
    [['--gateways', '0'], '--gateways takes a whole number from 1 on, not "0"'],
    [['crawl', 'http://a', '--format', 'pdf'], '--format is one of'],
    [['doctor', 'now'], '"now" is one word too many'],
    [['doctor', '--fetchers', '2'], '--fetchers belongs to a cluster'],
    [['doctor', '--limit', '2'], '--limit belongs to crawl, scrape and map'],
    [['admin', 'dance'], 'no command "admin dance"'],
    [['admin', 'key', 'create', 'acme'], '"admin key create" needs <name>'],
    [['admin', 'block'], '"admin block" needs <host>'],
    [['admin', 'replay'], '"admin replay" needs <id>'],
    [['admin', 'replay', '7', '--type', 'Cancel'], '--type does not belong to "admin replay"'],
    [['admin', 'teams', 'acme'], '"acme" is one word too many'],
    [['admin', 'teams', '--reason', 'x'], '--reason does not belong to "admin teams"'],
    [['admin', 'team', 'set', 'acme', '--concurrency', 'many'], '--concurrency takes a whole number or "default"'],
    [['admin', 'team', 'set', 'acme', '--flags', '{'], '--flags takes JSON'],
    [['admin', 'teams', '--url', 'ftp://a'], '--url takes an http or https address'],
  ])('refuses %j with exit code 2 and the reason', (args, reason) => {
    const { code, err } = launch(...args);
    expect(code).toBe(2);
    expect(err).toContain(reason);
  });
});

describe('page files', () => {
  it.each([
    ['http://a.com/', 'a.com/index.md'],
    ['http://a.com:8080/x/y.html', 'a.com_8080/x/y.md'],
    ['http://a.com/x/', 'a.com/x/index.md'],
    ['http://a.com/..%2f..%2fetc%2fpasswd', 'a.com/_.._.._etc_passwd.md'],
    ['http://a.com/con', 'a.com/_con.md'],
  ])('puts %s into %s', async (url, place) => {
    const { placeOf } = await load<{ placeOf(url: string, ending: string): string }>('pages.mjs');
    expect(placeOf(url, '.md')).toBe(place);
  });

  it('gives two queries of one path two names', async () => {
    const { placeOf } = await load<{ placeOf(url: string, ending: string): string }>('pages.mjs');
    expect(placeOf('http://a.com/x?a=1', '.md')).not.toBe(placeOf('http://a.com/x?a=2', '.md'));
  });

  it('keeps pages apart whose names differ in case only', async () => {
    const { PageWriter } = await load<{
      PageWriter: new (options: { out: string; format: string; url: string }) => { write(page: object): void };
    }>('pages.mjs');
    const out = mkdtempSync(path.join(tmpdir(), 'troupe-pages-'));
    const writer = new PageWriter({ out, format: 'markdown', url: 'http://a.com' });
    for (const name of ['A', 'a']) writer.write({ markdown: name, metadata: { sourceURL: `http://a.com/${name}` } });
    expect(readFileSync(path.join(out, 'a.com/A.md'), 'utf8')).toBe('A\n');
    expect(existsSync(path.join(out, 'a.com/a.md'))).toBe(false);
    rmSync(out, { recursive: true });
  });
});

describe('downloads', () => {
  /** A zip of one deflated file, by hand. */
  function zipOf(name: string, text: string): Buffer {
    const packed = deflateRawSync(text);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(8, 10);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt16LE(name.length, 28);
    const end = Buffer.alloc(22);
    end.writeUInt32LE(0x06054b50, 0);
    end.writeUInt16LE(1, 10);
    end.writeUInt32LE(30 + name.length + packed.length, 16);
    return Buffer.concat([local, Buffer.from(name), packed, entry, Buffer.from(name), end]);
  }

  it('are unpacked from a zip by the name of the file', async () => {
    const { readZipEntry } = await load<{ readZipEntry(zip: Buffer, wanted: (name: string) => boolean): Buffer }>(
      'zip.mjs',
    );
    const zip = zipOf('x/nats-server', 'binary');
    expect(readZipEntry(zip, (name) => name.endsWith('/nats-server')).toString()).toBe('binary');
    expect(() => readZipEntry(zip, () => false)).toThrow('does not hold');
  });

  it('of nats-server below 2.11 are refused', async () => {
    const { isNewEnough } = await load<{ isNewEnough(version: number[]): boolean }>('parts/nats.mjs');
    expect(
      [
        [2, 9, 10],
        [2, 10, 29],
        [2, 11, 0],
        [2, 15, 1],
        [3, 0, 0],
      ].map(isNewEnough),
    ).toEqual([false, false, true, true, true]);
  });
});

describe('the guard of a server', () => {
  const isAlive = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };

  function guarded(...command: string[]): { pid: Promise<number>; release(): void; ended: Promise<number | null> } {
    const guard = spawn('/bin/sh', [local('guard.sh'), 'TERM', '1', ...command], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    });
    const lifeline = guard.stdio[3] as NodeJS.WritableStream & { destroy(): void };
    return {
      pid: new Promise((resolve) => guard.stdio[4]?.once('data', (text: Buffer) => resolve(Number(text.toString())))),
      release: () => lifeline.destroy(),
      ended: new Promise((resolve) => guard.once('exit', resolve)),
    };
  }

  it('stops the server when the launcher is gone', async () => {
    const { pid, release, ended } = guarded('sleep', '60');
    const server = await pid;
    expect(isAlive(server)).toBe(true);
    release();
    await ended;
    expect(isAlive(server)).toBe(false);
  });

  it('kills a server that does not listen', async () => {
    const { pid, release, ended } = guarded('sh', '-c', "trap '' TERM; while :; do sleep 0.1; done");
    const server = await pid;
    release();
    await ended;
    expect(isAlive(server)).toBe(false);
  });

  it("ends with the server's own exit code", async () => {
    expect(await guarded('sh', '-c', 'exit 7').ended).toBe(7);
  });
});

describe('the records of a cluster', () => {
  it('let one launcher in and tell the next who is there', async () => {
    const { takeLock } = await load<{ takeLock(folders: object): () => void }>('records.mjs');
    const { dataFolders } = await load<{ dataFolders(dir: string): { data: string; lockFile: string } }>('places.mjs');
    const dir = mkdtempSync(path.join(tmpdir(), 'troupe-lock-'));
    const folders = dataFolders(dir);
    const unlock = takeLock(folders);
    expect(() => takeLock(folders)).toThrow(`launcher pid ${process.pid}`);
    unlock();
    takeLock(folders)();
    rmSync(dir, { recursive: true });
  });

  it('take the same port again while it is free', async () => {
    const { choosePort } = await load<{ choosePort: ChoosePort }>('ports.mjs');
    const port = await choosePort('127.0.0.1');
    expect(await choosePort('127.0.0.1', port)).toBe(port);
    const server = createServer().listen(port, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    expect(await choosePort('127.0.0.1', port)).not.toBe(port);
    await new Promise((resolve) => server.close(resolve));
  });

  it('choose no port twice, nor one that another launcher has chosen and does not use yet', async () => {
    const { choosePort } = await load<{ choosePort: ChoosePort }>('ports.mjs');
    const script = `const { choosePort } = await import(${JSON.stringify(pathToFileURL(local('ports.mjs')).href)});
      console.log(await choosePort('127.0.0.1'));
      setInterval(() => {}, 1_000);`;
    const other = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(other.stdout, 'data')) as [Buffer];
    const theirs = Number(line);
    const only = { from: theirs, to: theirs + 1 };
    await expect(choosePort('127.0.0.1', undefined, only)).rejects.toThrow('no free port');
    expect(await choosePort('127.0.0.1', theirs)).not.toBe(theirs);
    other.kill('SIGKILL');
    await once(other, 'exit');
    expect(await choosePort('127.0.0.1', undefined, only)).toBe(theirs);
    await expect(choosePort('127.0.0.1', undefined, only)).rejects.toThrow('no free port');
  });
});
