/**
 * Published clients, installed once into the cache folder of downloads: nothing of them is a dependency of Troupe.
 *
 * What cannot be had here (no Python, no registry) is null, with one loud line that says what is skipped and why.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { workspace } from '../support/cluster.js';

const places = pathToFileURL(path.join(workspace, 'deploy/local/places.mjs')).href;
const { cacheDir } = (await import(places)) as { cacheDir(): string };

const PYTHON_SDK = 'firecrawl-py==4.53.2';
const S3_SERVER = 'moto[s3,server]==5.2.5';
const MCP_SERVER = 'firecrawl-mcp@3.26.0';
const CLI = 'firecrawl-cli@1.23.3';
const INSTALL_MS = 240_000;
const LOOK_AGAIN_MS = 200;

/** The Python of a virtual environment that holds the Python SDK. */
export function findPythonSdk(): Promise<string | null> {
  return installed('python-sdk', PYTHON_SDK, 'bin/python', async (folder) => {
    await run('python3', ['-m', 'venv', folder]);
    const python = path.join(folder, 'bin/python');
    await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', PYTHON_SDK]);
  });
}

/** The program of an S3-compatible server. */
export function findS3Server(): Promise<string | null> {
  return installed('s3-server', S3_SERVER, 'bin/moto_server', async (folder) => {
    await run('python3', ['-m', 'venv', folder]);
    const python = path.join(folder, 'bin/python');
    await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', S3_SERVER]);
  });
}

/** Main module of the MCP server. */
export function findMcpServer(): Promise<string | null> {
  return installed('mcp-server', MCP_SERVER, 'node_modules/firecrawl-mcp/dist/index.js', (folder) =>
    npmInstall(folder, MCP_SERVER),
  );
}

/** Main module of the command line client. */
export function findCli(): Promise<string | null> {
  return installed('cli', CLI, 'node_modules/firecrawl-cli/dist/index.js', (folder) => npmInstall(folder, CLI));
}

function npmInstall(folder: string, what: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'package.json'), '{"private":true,"scarfSettings":{"enabled":false}}');
  // Without install scripts: none of theirs is needed to run.
  return run('npm', ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--silent', what]);
}

/**
 * Path of `program` in a folder of the cache that `install` fills, or null.
 *
 * The folder carries the version and a mark that is written last, so a half installed one is never used. It is not moved
 * afterwards, because a virtual environment knows its own place. Of several processes that want it, one installs it.
 */
export async function installed(
  name: string,
  what: string,
  program: string,
  install: (folder: string) => Promise<void>,
): Promise<string | null> {
  const folder = path.join(cacheDir(), 'clients', `${name}-${what.replace(/^.*(?:@|==)/, '')}`);
  const mark = path.join(folder, '.complete');
  try {
    await alone(`${folder}.lock`, async () => {
      if (existsSync(mark)) return;
      rmSync(folder, { recursive: true, force: true });
      await install(folder);
      writeFileSync(`${mark}.new`, '');
      renameSync(`${mark}.new`, mark);
    });
  } catch (error) {
    say(`SKIPPED: ${what} could not be installed (${(error as Error).message}); the specs that use it do not run`);
    return null;
  }
  return path.join(folder, program);
}

/** Runs `work` while no other process that asks for the same lock does. The lock of a process that died is broken. */
async function alone(lock: string, work: () => Promise<void>): Promise<void> {
  mkdirSync(path.dirname(lock), { recursive: true });
  while (!taken(lock)) await sleep(LOOK_AGAIN_MS);
  try {
    await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function taken(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  if (!holderLives(lock)) rmSync(lock, { force: true });
  return false;
}

function holderLives(lock: string): boolean {
  try {
    const pid = Number(readFileSync(lock, 'utf8'));
    // Written a moment after the file is made.
    if (pid === 0) return true;
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function say(line: string): void {
  process.stderr.write(`troupe    | ${line}\n`);
}

/** Rejects with the end of what the command said when it fails. */
export function run(command: string, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: INSTALL_MS });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-500)));
    child.once('error', reject);
    child.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`${command} ended with ${code}: ${said.trim()}`)),
    );
  });
}
