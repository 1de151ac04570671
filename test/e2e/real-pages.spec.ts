/**
 * A crawl of real pages, against an independent walk of the files' links: nothing missing, nothing twice.
 *
 * `REAL_PAGES_DIR` names another folder of HTML files than the one in the tree, `REAL_PAGES_REPORT` a file to which the
 * figures are appended.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileOf, titlesOf, walkFolder, type WalkedSite } from '../sites/python-docs/walk.js';
import { serveFolder, type FolderSite } from '../sites/python-docs/serve.js';
import { workspace } from '../support/cluster.js';
import { CLIENTS_CLUSTER, startStage, type Stage } from '../support/shared-stage.js';
import { CrawlClient, type Document, type FinishedJob } from './crawl-client.js';
import { countBy, Ledger } from './ledger.js';

const START = '/index.html';
const LEAST_PAGES = 300;
const TIMEOUT_MS = 600_000;

let root: string;
let unpacked: string | null = null;
let stage: Stage;
let site: FolderSite;
let expected: WalkedSite;
let ledger: Ledger;

beforeAll(async () => {
  root = process.env.REAL_PAGES_DIR ?? (unpacked = await unpackManual());
  // Some seconds in which nothing else runs here: before connections are used that may have been closed meanwhile.
  expected = walkFolder(root, START);
  site = await serveFolder(root);
  stage = await startStage(CLIENTS_CLUSTER);
  ledger = await Ledger.open(stage.cluster);
}, TIMEOUT_MS);

afterAll(async () => {
  await ledger?.close();
  await stage?.stop();
  await site?.stop();
  if (unpacked !== null) await rm(unpacked, { recursive: true, force: true });
}, TIMEOUT_MS);

async function unpackManual(): Promise<string> {
  const dir = await mkdtemp(path.join(tmpdir(), 'troupe-python-docs-'));
  const archive = path.join(workspace, 'test/sites/python-docs/python-3.11-manual.tar.gz');
  execFileSync('tar', ['-xzf', archive, '-C', dir]);
  return dir;
}

/** Path and query of where a document was found. */
function placeOf({ metadata }: Document): string {
  const { pathname, search } = new URL(metadata.sourceURL);
  return pathname + search;
}

function expectOwnContent(documents: Document[]): void {
  const wrong: string[] = [];
  for (const document of documents) {
    const place = placeOf(document);
    const file = fileOf(root, place);
    if (document.metadata.statusCode !== 200 || file === null || !file.endsWith('.html')) continue;
    const titles = titlesOf(file);
    const { markdown = '' } = document;
    const { title: found } = document.metadata;
    if (typeof found !== 'string' || found === '' || !titles.some((title) => title.includes(found)))
      wrong.push(`${place}: title ${String(found)}, not from ${titles.join(' | ')}`);
    if (markdown.length < 40) wrong.push(`${place}: markdown "${markdown}"`);
  }
  expect(wrong).toEqual([]);
}

function report(job: FinishedJob, seconds: number): void {
  const file = process.env.REAL_PAGES_REPORT;
  if (file === undefined) return;
  const places = job.status.data.map(placeOf);
  const figures = {
    root,
    expected: expected.size,
    missingFiles: [...expected.values()].filter((status) => status === 404).length,
    returned: places.length,
    missing: [...expected.keys()].filter((place) => !places.includes(place)).length,
    extra: places.filter((place) => !expected.has(place)).length,
    twice: places.length - new Set(places).size,
    requests: site.requests.length,
    seconds: Number(seconds.toFixed(1)),
  };
  appendFileSync(file, `${JSON.stringify(figures)}\n`);
}

it(
  'a crawl of a real manual returns exactly the pages that its links lead to',
  async () => {
    expect([...expected.values()].filter((status) => status === 200).length).toBeGreaterThanOrEqual(LEAST_PAGES);
    const startedMs = performance.now();
    const job = await new CrawlClient(stage.cluster).crawl({ url: site.origin + START }, TIMEOUT_MS);
    report(job, (performance.now() - startedMs) / 1000);

    const { status, errors } = job;
    expect(errors).toMatchObject({ errors: [], robotsBlocked: [] });
    expect(status.data.map((document) => `${placeOf(document)} ${document.metadata.statusCode}`).sort()).toEqual(
      [...expected].map(([place, code]) => `${place} ${code}`).sort(),
    );
    expect(status).toMatchObject({
      status: 'completed',
      total: expected.size,
      completed: expected.size,
      creditsUsed: expected.size,
    });
    const rows = await ledger.of(job.id);
    expect(countBy(rows.outcomes, ({ outcome }) => outcome)).toEqual({ ok: expected.size });
    expect(rows).toMatchObject({ pages: expected.size, credits: expected.size, frontier: [], lanes: 0 });
    expectOwnContent(status.data);
  },
  TIMEOUT_MS,
);
