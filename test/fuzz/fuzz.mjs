/**
 * `npm run fuzz [-- --inputs 20000 --seed 1]`: damaged and hostile pages through the converter.
 *
 * The same seed makes the same inputs; `--from N --inputs 1` repeats one. Exit code 1 when an input crashed the converter,
 * took longer than its size allows, gave something invalid, or when memory grew above the bound.
 */
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { buildSources } from '../../deploy/local/prepare.mjs';

const USAGE = `npm run fuzz [-- options]

  --inputs N    how many (default 2000); from 1000 on the giants of 60 MB follow
  --seed N      another seed, other inputs (default 1)
  --from N      number of the first one (default 0): --from N --inputs 1 repeats one
  --no-giants   leave them out
  --no-build    use the compiled sources as they are
  --help`;

const options = readOptions();

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        inputs: { type: 'string', default: '2000' },
        from: { type: 'string', default: '0' },
        seed: { type: 'string', default: '1' },
        'no-giants': { type: 'boolean', default: false },
        'no-build': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return end(0, USAGE);
    for (const name of /** @type {const} */ (['inputs', 'from', 'seed']))
      if (!/^\d{1,9}$/.test(values[name])) return end(2, `--${name} takes a whole number, not "${values[name]}".`);
    return values;
  } catch (error) {
    return end(2, `${/** @type {Error} */ (error).message}\n\n${USAGE}`);
  }
}

/** @param {number} code @param {string} text @returns {never} */
function end(code, text) {
  (code === 0 ? console.log : console.error)(text);
  process.exit(code);
}

/** An input that takes this many times what it may is not coming back. */
const PATIENCE = 5;
/** While pages are of ordinary size; the 60 MB pages have a bound of their own. */
const MAX_RSS_MB = 1000;
const MAX_GIANT_RSS_MB = 3000;
const MAX_FAULTS = 20;

const rssMb = () => process.memoryUsage.rss() / 1e6;

class Run {
  count = 0;
  bytes = 0;
  slowest = { name: '', bytes: 0, ms: 0 };
  /** Slowest in relation to its size, with 100 kB as the least. */
  steepest = { name: '', bytes: 0, ms: 0, msPerMb: 0 };
  peakMb = 0;
  giantPeakMb = 0;
  corpus = 0;
  /** @type {string[]} */
  faults = [];

  /** @param {{ name: string, bytes: number, ms: number, fault: string | null }} end */
  add({ name, bytes, ms, fault }) {
    this.count++;
    this.bytes += bytes;
    if (fault !== null) this.faults.push(`${name}: ${fault}`);
    if (ms > this.slowest.ms) this.slowest = { name, bytes, ms };
    const msPerMb = ms / Math.max(0.1, bytes / 1e6);
    if (msPerMb > this.steepest.msPerMb) this.steepest = { name, bytes, ms, msPerMb };
    if (name.startsWith('input ')) this.peakMb = Math.max(this.peakMb, rssMb());
    else this.giantPeakMb = Math.max(this.giantPeakMb, rssMb());
  }

  finish() {
    if (this.peakMb > MAX_RSS_MB) this.faults.push(`memory grew to ${this.peakMb.toFixed(0)} MB`);
    if (this.giantPeakMb > MAX_GIANT_RSS_MB) this.faults.push(`giants took ${this.giantPeakMb.toFixed(0)} MB`);
  }
}

/** @param {Run} run @returns {Promise<void>} */
function fuzz(run) {
  const from = Number(options.from);
  const workerData = {
    seed: Number(options.seed),
    from,
    to: from + Number(options.inputs),
    giants: !options['no-giants'] && Number(options.inputs) >= 1000,
  };
  const worker = new Worker(new URL('./fuzz.worker.mjs', import.meta.url), { workerData });
  return new Promise((resolve) => {
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const stop = (/** @type {string | null} */ fault) => {
      clearTimeout(timer);
      if (fault !== null) run.faults.push(fault);
      worker.terminate().then(() => resolve());
    };
    worker.on('error', (error) => stop(`the thread ended: ${String(error.stack)}`));
    worker.on('message', (message) => {
      clearTimeout(timer);
      if (message.kind === 'start')
        timer = setTimeout(() => stop(`${message.name} hangs`), 30_000 + PATIENCE * message.limitMs);
      else if (message.kind === 'end') run.add(message);
      else {
        run.corpus = message.corpus;
        stop(null);
      }
      if (run.faults.length >= MAX_FAULTS) stop(null);
    });
  });
}

if (!options['no-build']) await buildSources();
const startedMs = performance.now();
const run = new Run();
await fuzz(run);
run.finish();
const seconds = (performance.now() - startedMs) / 1000;
const show = (/** @type {{ name: string, bytes: number, ms: number }} */ { name, bytes, ms }) =>
  `${ms.toFixed(0)} ms (${name}, ${bytes} bytes)`;
console.log(
  `${run.count} inputs, ${(run.bytes / 1e6).toFixed(0)} MB, from ${run.corpus} pages, in ${seconds.toFixed(1)} s`,
);
console.log(`slowest: ${show(run.slowest)}; for its size: ${show(run.steepest)}`);
console.log(`memory: ${run.peakMb.toFixed(0)} MB, with the giants ${run.giantPeakMb.toFixed(0)} MB`);
for (const fault of run.faults) console.error(`FAULT ${fault}`);
process.exit(run.faults.length === 0 ? 0 : 1);
