/**
 * Thousands of pages through one browser engine, with bad pages and killed processes: `node test/bench/browser-soak.mjs
 * [--pages 3000] [--lanes 4]`, on the compiled sources. Ends with exit code 1 when a page is lost, when anything is
 * left behind, or when the memory of this process has grown by more than 15 % since the second tenth.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { soak } from '../../dist/apps/fetcher/src/browser/browser-soak.fixture.js';

const GROWTH_LIMIT = 1.15;
const argv = process.argv.slice(2);
/** @param {string} name @param {number} fallback */
const option = (name, fallback) =>
  argv.includes(`--${name}`) ? Number(argv[argv.indexOf(`--${name}`) + 1]) : fallback;

setFlagsFromString('--expose-gc');
Object.assign(globalThis, { gc: runInNewContext('gc') });

const pages = option('pages', 3000);
const startedAt = performance.now();
const result = await soak({
  pages,
  lanes: option('lanes', 4),
  killRendererEvery: 25,
  killBrowserEvery: 200,
  bigBytes: 50_000_000,
  onProgress: (done) => {
    if (done % 100 !== 0) return;
    const rssMb = Math.round(process.memoryUsage.rss() / 1e6);
    const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
    process.stderr.write(`soak | ${done} of ${pages} pages, ${minutes} min, ${rssMb} MB\n`);
  },
});
const growth = result.rssLateMb / result.rssEarlyMb;
console.log(JSON.stringify({ ...result, growth: Number(growth.toFixed(3)) }, null, 2));
const left = [...result.leftProcesses, ...result.leftFolders];
const isSound = result.wrong.length === 0 && left.length === 0 && result.leftFiles <= 2 && growth <= GROWTH_LIMIT;
process.exit(isSound ? 0 : 1);
