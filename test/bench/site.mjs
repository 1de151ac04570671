/** The kit's test site, run for this bench alone on free ports. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { choosePort } from '../../deploy/local/ports.mjs';

const START_MS = 30_000;
/** Two ports on each address, since a host is an address and its port. */
const WIDE_PORTS = 2;
/** Pages of each of the many small sites. */
const WIDE_PAGES = 100;

/**
 * @typedef {object} Site
 * @property {number} pid
 * @property {number} pages of the main site
 * @property {string} start address of its first page
 * @property {string[]} wideHosts bases of many small sites on hosts of their own
 * @property {(url: string) => PageIdentity | null} identify
 * @property {() => void} stop
 */

/** @typedef {{ key: string, mark: string }} PageIdentity `mark` stands in the main text of that page and nowhere else */

/** @param {string} script @param {string[]} args */
async function launch(script, args) {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  process.once('exit', () => child.kill('SIGKILL'));
  await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the site was not ready in time')), START_MS);
    child.stdout.once('data', () => resolve(clearTimeout(timer)));
    child.once('exit', (code) => reject(new Error(`the site ended with exit code ${code}`)));
  });
  return child;
}

/** @param {(host: number, id: number) => string} token of the kit @returns {Site['identify']} */
function makeIdentify(token) {
  return (url) => {
    const { hostname, port, pathname } = new URL(url);
    const id = pathname === '/' ? 0 : Number(/^\/[pj]\/(\d+)$/.exec(pathname)?.[1] ?? -1);
    const host = Number(/^127\.0\.0\.(\d+)$/.exec(hostname)?.[1] ?? 0);
    if (id < 0 || host < 1) return null;
    return { key: `${hostname}:${port}/${id}`, mark: `${token(host - 1, id)} ` };
  };
}

/** @param {number} count */
async function choosePorts(count) {
  const ports = new Set();
  while (ports.size < count) ports.add(await choosePort('127.0.0.1'));
  return [...ports];
}

/** @param {{ kit: string, pages: number, hosts: number }} options @returns {Promise<Site>} */
export async function startSite({ kit, pages, hosts }) {
  const script = path.join(kit, 'site/server.mjs');
  const { token } = await import(pathToFileURL(script).href);
  const [main, ...wide] = await choosePorts(1 + WIDE_PORTS);
  const specs = [`${main}:${pages}:0`, ...wide.map((port) => `${port}:${WIDE_PAGES}:0`)];
  const child = await launch(script, ['--hosts', String(hosts), ...specs.flatMap((spec) => ['--site', spec])]);
  return {
    pid: Number(child.pid),
    pages,
    start: `http://127.0.0.1:${main}/`,
    wideHosts: wide.flatMap((port) => Array.from({ length: hosts }, (_, i) => `http://127.0.0.${i + 1}:${port}/`)),
    identify: makeIdentify(token),
    stop: () => void child.kill('SIGTERM'),
  };
}
