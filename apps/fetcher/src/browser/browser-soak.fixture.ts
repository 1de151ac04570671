/**
 * Many pages through one browser engine while pages misbehave and processes are killed; what is left afterwards is
 * counted. Used by a short spec and by the long soak of the bench.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import type http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { parseAllowList, Resolver } from '@troupe/egress';
import { BrowserEngine } from './browser.engine.js';
import { BrowserPool } from './browser-pool.js';
import { browsersHere } from '@troupe/testing';
import { EgressProxy } from '../proxies/egress-proxy.js';
import { engineRequest } from '../http/engine-request.fixture.js';
import { startSite, type Site } from '@troupe/testing';
import { descendantsOf } from '@troupe/testing';

export interface SoakOptions {
  pages: number;
  /** Pages at once. */
  lanes: number;
  /** A renderer is killed after so many pages, the browser after so many renderers. */
  killRendererEvery: number;
  killBrowserEvery: number;
  /** Bytes of the page that is too big. */
  bigBytes: number;
  onProgress?(done: number): void;
}

export interface SoakResult {
  /** Well-behaved pages, and how many of them did not come back as they should. */
  good: number;
  wrong: string[];
  /** Good pages that lost two tabs in a row; they are asked for again, as a job would do. */
  hitTwice: number;
  /** Answers to each kind of misbehaviour, as codes. */
  answers: Record<string, Record<string, number>>;
  kills: number;
  /**
   * Memory of this process in MB: the medians during the second tenth of the pages and during the last tenth. Pages of
   * 50 MB make single readings worthless.
   */
  rssEarlyMb: number;
  rssLateMb: number;
  /** Processes that are left after the engine was closed. */
  leftProcesses: string[];
  leftFolders: string[];
  leftFiles: number;
}

const GOOD_TIMEOUT_MS = 60_000;
/** Time limit of pages that may never end. */
const BAD_TIMEOUT_MS = 2_500;
const PAGES_PER_JOB = 25;
/** Every so many pages one misbehaves, each kind in turn. */
const BAD_EVERY = 5;

const BAD_PAGES: Record<string, string> = {
  hang: '<p>x</p><script>for (;;);</script>',
  'late-hang': '<p>x</p><script>setTimeout(() => { for (;;); }, 20)</script>',
  alert: '<p>x</p><script>for (let i = 0; i < 20; i++) alert(i)</script>',
  popup: `<p>x</p><script>for (let i = 0; i < 5; i++) window.open('/good/' + i)</script>`,
  endless: `<p>x</p><script>const go = () => { fetch('/beat?' + Math.random()); setTimeout(go, 5) }; go()</script>`,
  hoard: '<p>x</p><script>const all = []; for (;;) all.push(new Array(1e6).fill(all.length))</script>',
  navigate: `<p>x</p><script>setInterval(() => { location.href = '/bad/navigate?' + Math.random() }, 10)</script>`,
};
const BAD_KINDS = [...Object.keys(BAD_PAGES), 'download', 'big', 'cut'];

function answer(bigBytes: number, request: http.IncomingMessage, response: http.ServerResponse): void {
  const [, kind = '', name = ''] = (request.url ?? '').split('?')[0]?.split('/') ?? [];
  response.setHeader('content-type', 'text/html');
  if (kind === 'good') {
    response.end(`<div id=d></div><script>
      fetch('/mark/${name}').then((r) => r.text()).then((t) => { d.textContent = t })</script>`);
  } else if (kind === 'mark') response.end(`mark-${name}-`);
  else if (name === 'download') response.setHeader('content-disposition', 'attachment').end('x');
  else if (name === 'big') response.end('x'.repeat(bigBytes));
  else if (name === 'cut') {
    response.writeHead(200, { 'content-length': '5000' }).write('<p>cut');
    setTimeout(() => response.destroy(), 50);
  } else response.end(BAD_PAGES[name] ?? '');
}

/** Temporary files of this process go to a folder of their own meanwhile. */
export async function soak(options: SoakOptions): Promise<SoakResult> {
  const usual = process.env.TMPDIR;
  const dir = mkdtempSync(path.join(os.tmpdir(), 'troupe-soak-'));
  process.env.TMPDIR = dir;
  try {
    return await soakIn(dir, options);
  } finally {
    if (usual === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = usual;
    rmSync(dir, { recursive: true, force: true });
  }
}

async function soakIn(dir: string, options: SoakOptions): Promise<SoakResult> {
  const before = leftovers();
  const site = await startSite((request, response) => answer(options.bigBytes, request, response));
  const allow = parseAllowList('127.0.0.1');
  const resolver = new Resolver({ servers: [], allow });
  const proxy = new EgressProxy(resolver);
  const pool = new BrowserPool({ browsers: browsersHere, concurrency: options.lanes, proxy, userAgent: 'T' });
  const engine = new BrowserEngine({ pool, resolver, allow });
  const run = new SoakRun(options, engine, site);
  await Promise.all(Array.from({ length: options.lanes }, () => run.lane()));
  const { rssEarlyMb, rssLateMb } = run.memory();
  await engine.close();
  await proxy.close();
  await site.close();
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const after = leftovers();
  return {
    ...run.tally,
    rssEarlyMb,
    rssLateMb,
    leftProcesses: after.processes.filter((line) => !before.processes.includes(line)),
    leftFolders: readdirSync(dir),
    leftFiles: after.files - before.files,
  };
}

class SoakRun {
  readonly tally = {
    good: 0,
    wrong: [] as string[],
    answers: {} as SoakResult['answers'],
    hitTwice: 0,
    kills: 0,
  };
  private readonly rss = { early: [] as number[], late: [] as number[] };
  private next = 0;
  private done = 0;

  constructor(
    private readonly options: SoakOptions,
    private readonly engine: BrowserEngine,
    private readonly site: Site,
  ) {}

  async lane(): Promise<void> {
    for (let page = this.next++; page < this.options.pages; page = this.next++) {
      await (page % BAD_EVERY === BAD_EVERY - 1 ? this.showBad(page) : this.showGood(page));
      this.site.log.length = this.site.headers.length = 0;
      this.settle(++this.done);
    }
  }

  memory(): Pick<SoakResult, 'rssEarlyMb' | 'rssLateMb'> {
    return { rssEarlyMb: median(this.rss.early), rssLateMb: median(this.rss.late) };
  }

  private settle(done: number): void {
    const { pages, killRendererEvery, killBrowserEvery, onProgress } = this.options;
    const tenth = Math.floor((10 * (done - 1)) / pages);
    if (tenth === 1) this.rss.early.push(rssMb());
    if (tenth === 9) this.rss.late.push(rssMb());
    if (done % killBrowserEvery === 0) this.kill((command) => !/--type=|browser\.sh/.test(command));
    else if (done % killRendererEvery === 0) this.kill((command) => command.includes('--type=renderer'));
    onProgress?.(done);
  }

  private kill(isWanted: (command: string) => boolean): void {
    const found = descendantsOf(process.pid).filter(
      ({ command, state }) => state !== 'Z' && command.includes('chromium') && isWanted(command),
    );
    const victim = found[this.tally.kills % Math.max(1, found.length)];
    if (victim === undefined) return;
    this.tally.kills++;
    process.kill(victim.pid, 'SIGKILL');
  }

  private async showGood(page: number): Promise<void> {
    this.tally.good++;
    let body = await this.show(page, `/good/${page}`, GOOD_TIMEOUT_MS);
    if (body === 'SCRAPE_SITE_ERROR') {
      this.tally.hitTwice++;
      body = await this.show(page, `/good/${page}`, GOOD_TIMEOUT_MS);
    }
    if (!body.includes(`>mark-${page}-<`)) this.tally.wrong.push(`${page}: ${body.slice(0, 200)}`);
  }

  private async showBad(page: number): Promise<void> {
    const kind = BAD_KINDS[Math.floor(page / BAD_EVERY) % BAD_KINDS.length] ?? '';
    const timeoutMs = kind in BAD_PAGES ? BAD_TIMEOUT_MS : GOOD_TIMEOUT_MS;
    const body = await this.show(page, `/bad/${kind}`, timeoutMs);
    const counts = (this.tally.answers[kind] ??= {});
    const code = body.startsWith('SCRAPE_') ? body : 'shown';
    counts[code] = (counts[code] ?? 0) + 1;
  }

  /** The DOM, or the error's code. One page in five belongs to no job. */
  private async show(page: number, path: string, timeoutMs: number): Promise<string> {
    const request = engineRequest(this.site.origin + path, {
      timeoutMs,
      maxBytes: 20 * 1024 * 1024,
      contextKey: page % 5 === 0 ? null : `job-${Math.floor(page / PAGES_PER_JOB)}`,
    });
    try {
      return Buffer.from((await this.engine.fetch(request, new AbortController().signal)).body).toString();
    } catch (error) {
      return (error as { code?: string }).code ?? String(error);
    }
  }
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

const rssMb = (): number => {
  (globalThis as { gc?: () => void }).gc?.();
  return process.memoryUsage.rss() / 1e6;
};

function leftovers(): { processes: string[]; files: number } {
  return {
    processes: descendantsOf(process.pid)
      .filter(({ state }) => state !== 'Z')
      .map(({ pid, command }) => `${pid} ${command.slice(0, 100)}`),
    files: readdirSync('/proc/self/fd').length,
  };
}
