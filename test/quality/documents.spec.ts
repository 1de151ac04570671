/** Real PDFs of many programs against pdftotext, in a process of its own. Figures of all files are printed. */
import { expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { findDebianPdfs } from '../support/debian-documents.js';
import { hasPrograms } from '../support/debian-package.js';
import { workspace } from '../support/cluster.js';

/** Words that are there but for the heads and feet that pages repeat, which are left out on purpose. */
const LEAST_OWN = 0.98;
const LEAST_OWN_OF_ALL = 0.99;
const LEAST_FILES = 20;
/** Of each file; more of the same tells little more. */
const PAGES = 12;
const TIMEOUT_MS = 300_000;

interface Comparison {
  files: { name: string; pages: number; all: number; own: number }[];
  all: number;
  own: number;
}

const hasPeer = hasPrograms(['pdftotext'], ['poppler-utils']);
if (!hasPeer) process.stderr.write('troupe    | SKIPPED: there is no pdftotext here; real PDFs are not compared\n');
const folder = hasPeer ? findDebianPdfs() : null;
const whenThere = folder === null ? it.skip : it;

whenThere(
  'real PDFs arrive with the words that pdftotext finds in them',
  () => {
    const script = path.join(workspace, 'test/quality/documents.mjs');
    const args = [script, folder!, String(PAGES), '--json'];
    const { files, own } = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Comparison;
    const rows = files.map(({ name, all, own: share }) => `${all.toFixed(4)}  ${share.toFixed(4)}     ${name}`);
    process.stderr.write(`${['recall  own lines  file', ...rows].join('\n')}\n`);
    expect(files.length).toBeGreaterThanOrEqual(LEAST_FILES);
    expect(files.filter((file) => file.own < LEAST_OWN)).toEqual([]);
    expect(own).toBeGreaterThanOrEqual(LEAST_OWN_OF_ALL);
  },
  TIMEOUT_MS,
);
