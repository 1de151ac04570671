/** Converts one input after another and says what each took; the main thread sees when one never comes back. */
import { parentPort, workerData } from 'node:worker_threads';
import { compiled, linkRules } from '../quality/kit.mjs';
import { checkResult, checkTree, isExpected } from './check.mjs';
import { readCorpus } from './corpus.mjs';
import { GIANTS } from './hostile.mjs';
import { inputAt, requestFor } from './input.mjs';
import { Random } from './random.mjs';

const { convertPage } = await compiled('content/index.js');
const { decodeBody } = await compiled('content/charset.js');
const { parseHtml } = await compiled('html/parse.js');
const rules = await linkRules();

const CORPUS_PAGES = 300;
/** Slower than this is tried again before it counts: the machine may have been busy. */
const BASE_MS = 1000;
const MS_PER_MB = 1500;
const TRIES = 3;

/** @param {any} request @param {boolean} withTree @returns {string | null} fault */
function convert(request, withTree) {
  try {
    const formats = request.spec.formats.map((/** @type {{ type: string }} */ { type }) => type);
    checkResult(convertPage(request, rules), { formats, maxLinks: request.discover?.maxLinks ?? 0 });
    if (withTree) checkTree(parseHtml(decodeBody(request.body, request.contentType)));
    return null;
  } catch (error) {
    return isExpected(error) ? null : String(/** @type {Error} */ (error).stack);
  }
}

/** @param {any} request */
function limitMs(request) {
  return BASE_MS + (request.body.length / 1e6) * MS_PER_MB;
}

/** @param {string} name @param {any} request @param {boolean} withTree */
function run(name, request, withTree) {
  const bytes = request.body.length;
  parentPort?.postMessage({ kind: 'start', name, limitMs: limitMs(request) });
  let fault = null;
  let ms = Infinity;
  for (let i = 0; i < TRIES && fault === null && ms > limitMs(request); i++) {
    const startedMs = performance.now();
    fault = convert(request, withTree && i === 0);
    ms = Math.min(ms, performance.now() - startedMs);
  }
  if (fault === null && ms > limitMs(request)) fault = `took ${ms.toFixed(0)} ms for ${bytes} bytes`;
  parentPort?.postMessage({ kind: 'end', name, bytes, ms, fault });
}

const { seed, from, to, giants } = workerData;
const corpus = readCorpus(CORPUS_PAGES);
for (let index = from; index < to; index++) run(`input ${index}`, inputAt(seed, index, corpus), index % 8 === 0);
if (giants) {
  for (const [name, make] of GIANTS) {
    const request = requestFor(new Random(seed), make(), 'text/html; charset=utf-8');
    run(name, { ...request, discover: null }, false);
  }
}
parentPort?.postMessage({ kind: 'done', corpus: corpus.length });
