/** The kit's drivers of other crawlers. */
import { spawn } from 'node:child_process';
import { createReadStream, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { cacheDir } from '../../deploy/local/places.mjs';
import { Meter } from './meter.mjs';
import { OutcomeCheck } from './outcome.mjs';
import { reapedCpuS } from './proc.mjs';

const CONCURRENCY = '16';

/** @param {string} kit @param {string} peer @param {string[]} args */
function runDriver(kit, peer, args) {
  const work = process.env.BENCH_WORK || path.join(cacheDir(), 'bench-peers');
  mkdirSync(work, { recursive: true });
  const child = spawn(path.join(kit, 'peers', peer, 'run.sh'), args, {
    env: { ...process.env, BENCH_WORK: work },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const stop = () => child.kill('SIGTERM');
  process.once('exit', stop);
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (said += text));
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: error.message, said }));
    child.once('close', (code) => resolve({ code, said }));
  }).finally(() => process.off('exit', stop));
  return { pid: Number(child.pid), ended };
}

/** Installs the peer's packages when they are missing. @param {string} kit @param {string} peer */
export async function installPeer(kit, peer) {
  const { code } = await runDriver(kit, peer, ['--install']).ended;
  if (code !== 0) throw new Error(`the peer ${peer} could not be installed (exit code ${code})`);
}

/** @param {string} file @param {import('./site.mjs').Site} site */
async function checkFile(file, site) {
  const check = new OutcomeCheck(site, site.pages);
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const { url, markdown } = JSON.parse(line);
    check.add(url, markdown);
  }
  return check.result();
}

/** The driver's last line, `{"crawlS": …}`: its time without the start of its process. @param {string} said */
function crawlSeconds(said) {
  try {
    return Number(JSON.parse(said.trim().split('\n').at(-1) ?? '').crawlS);
  } catch {
    return Number.NaN;
  }
}

/** @param {import('./site.mjs').Site} site @param {string} file @param {{ concurrency: number }} browser */
function browserArguments(site, file, { concurrency }) {
  return [`${site.start}j/0`, file, String(concurrency), 'browser'];
}

/**
 * Crawls the whole site with a peer, or what scripts make of it in a browser.
 *
 * @param {object} what
 * @param {string} what.kit
 * @param {string} what.peer
 * @param {import('./site.mjs').Site} what.site
 * @param {{ concurrency: number }} [what.browser]
 * @param {number} [what.idleShare] see `measureIdle`
 */
export async function crawlWithPeer({ kit, peer, site, browser, idleShare }) {
  const work = mkdtempSync(path.join(os.tmpdir(), 'troupe-bench-peer-'));
  const file = path.join(work, 'pages.jsonl');
  try {
    const reapedBeforeS = reapedCpuS();
    const args = browser === undefined ? [site.start, file, CONCURRENCY] : browserArguments(site, file, browser);
    const { pid, ended } = runDriver(kit, peer, args);
    const meter = new Meter({ pid, sitePid: site.pid, idleShare });
    const { code, said } = await ended;
    const reading = meter.stop({ cpuS: reapedCpuS() - reapedBeforeS });
    if (code !== 0) throw new Error(`the peer ${peer} ended with exit code ${code}`);
    const crawlS = crawlSeconds(said) || reading.wallS;
    return { ...reading, crawlS, pages: site.pages, outcome: await checkFile(file, site) };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
