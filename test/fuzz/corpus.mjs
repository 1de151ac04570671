/** Real pages to damage: those of the quality kit where it is present, else the manual that the repository holds. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from '../../deploy/local/places.mjs';
import { bytesOf, labels, whyNoKit } from '../quality/kit.mjs';

const MANUAL = path.join(root, 'test/sites/python-docs/python-3.11-manual.tar.gz');
/** Larger pages only cost time; size is a matter of hostile.mjs. */
const MAX_BYTES = 300_000;

function manualPages() {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'troupe-fuzz-'));
  try {
    execFileSync('tar', ['-xzf', MANUAL, '-C', dir]);
    const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.html'));
    return files.sort().map((file) => readFileSync(path.join(dir, file)));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** @param {number} most @returns {Buffer[]} */
export function readCorpus(most) {
  if (whyNoKit() !== null) return manualPages().slice(0, most);
  const all = labels();
  const step = Math.max(1, Math.floor(all.length / most));
  const pages = all.filter((_, index) => index % step === 0).map(bytesOf);
  return pages.filter((bytes) => bytes.length <= MAX_BYTES);
}
