/** PDFs of Debian's documentation packages, unpacked once into the cache folder of downloads; nothing is installed. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { workspace } from './cluster.js';

const places = pathToFileURL(path.join(workspace, 'deploy/local/places.mjs')).href;
const { cacheDir } = (await import(places)) as { cacheDir(): string };

const DOWNLOAD_MS = 240_000;
/** Made by TeX, LaTeX, Texinfo, troff, FOP, Sphinx and SiSU. */
const PACKAGES = [
  'bzip2-doc',
  'debian-policy',
  'developers-reference',
  'gnuplot-doc',
  'graphviz-doc',
  'live-manual-pdf',
  'octave-doc',
  'r-doc-pdf',
];
const WANTED = [
  ...['manual', 'policy', 'fhs-3.0', 'developers-reference', 'gnuplot', 'octave', 'liboctave', 'refcard-a4'],
  ...['Agraph', 'cgraph.3', 'cdt.3', 'pack.3', 'dot.1', 'gvpr.1', 'prune', 'dotguide', 'neatoguide', 'libguide'],
  ...['leftyguide', 'R-FAQ', 'R-admin', 'R-data', 'R-exts', 'R-intro', 'R-ints', 'R-lang'],
  ...['landscape.en.letter', 'portrait.de.a4', 'portrait.fr.a4', 'portrait.pl.a4'].map((view) => `live-manual.${view}`),
];

/** A folder of them; null with one loud line where they are not to be had. */
export function findDebianPdfs(): string | null {
  const folder = path.join(cacheDir(), 'documents');
  const mark = path.join(folder, '.complete');
  try {
    if (existsSync(mark)) return folder;
    rmSync(folder, { recursive: true, force: true });
    unpackAll(folder);
    writeFileSync(mark, '');
    return folder;
  } catch (error) {
    const reason = (error as Error).message;
    process.stderr.write(`troupe    | SKIPPED: no documents of Debian (${reason}); real PDFs are not read\n`);
    return null;
  }
}

function unpackAll(folder: string): void {
  const work = path.join(folder, 'packages');
  mkdirSync(work, { recursive: true });
  try {
    download(work);
    for (const file of readdirSync(work)) run('dpkg-deb', ['-x', file, 'unpacked'], work);
    const unpacked = path.join(work, 'unpacked');
    for (const name of readdirSync(unpacked, { recursive: true, encoding: 'utf8' }))
      keep(path.join(unpacked, name), folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  const missing = WANTED.filter((name) => !existsSync(path.join(folder, `${name}.pdf`)));
  if (missing.length > 0) throw new Error(`not in the packages: ${missing.join(', ')}`);
}

/** The lists of packages may be missing or old. */
function download(work: string): void {
  try {
    run('apt-get', ['download', ...PACKAGES], work);
  } catch (error) {
    if (process.getuid?.() !== 0) throw error;
    run('apt-get', ['update'], work);
    run('apt-get', ['download', ...PACKAGES], work);
  }
}

function keep(file: string, folder: string): void {
  const [, name = '', packed] = /([^/]+)\.pdf(\.gz)?$/.exec(file) ?? [];
  if (!WANTED.includes(name)) return;
  const bytes = readFileSync(file);
  writeFileSync(path.join(folder, `${name}.pdf`), packed === undefined ? bytes : gunzipSync(bytes));
}

function run(program: string, args: readonly string[], cwd: string): void {
  const { error, status, stderr } = spawnSync(program, args, { cwd, timeout: DOWNLOAD_MS, encoding: 'utf8' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr.trim().slice(-300)}`);
}
