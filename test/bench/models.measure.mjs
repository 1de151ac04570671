/**
 * `node test/bench/models.measure.mjs [pages = 30] [pages at once = 200]`, on the compiled sources: what the extractor adds
 * to the time of a model that takes 200 ms, for a page of 10,000 tokens, and its memory with many pages at once.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { TeamModels } from '../../dist/apps/extractor/src/models/team-models.js';
import { createPageModeler } from '../../dist/apps/extractor/src/pages/create-pages.js';
import { readConfig } from '../../dist/libs/config/src/index.js';
import { estimateTokens } from '../../dist/libs/extraction/src/index.js';
import { percentile, round } from './numbers.mjs';

const MODEL_MS = 200;
const PAGE_TOKENS = 10_000;
const TARGETS = { overheadMs: 30, growth: 1.1 };
const WARM_UP = 5;
const WAVES = 6;
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string' }, price: { type: 'number' } },
  required: ['name', 'price'],
  additionalProperties: false,
};

const [pages = 30, concurrent = 200] = process.argv.slice(2).map(Number);

/** @param {number} n */
function pageText(n) {
  const section = (i) =>
    `## Section ${i} of page ${n}\n\nThe lamp number ${i} is made of oak and brass; it costs ${i}.50 € in the shop.\n\n` +
    `| Name | Price |\n| --- | --- |\n| Lamp ${i} | ${i}.50 |\n\n`;
  let text = '# Lamps\n\n';
  for (let i = 0; estimateTokens(text) < PAGE_TOKENS; i += 10) {
    for (let k = i; k < i + 10; k++) text += section(k);
  }
  return text;
}

async function startModel() {
  const child = fork(new URL('model-server.mjs', import.meta.url), {
    env: { ...process.env, MODEL_MS: String(MODEL_MS) },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const [url] = await once(createInterface({ input: child.stdout }), 'line');
  return {
    url,
    async forget() {
      child.send('forget');
      await once(child, 'message');
    },
    stop: () => child.disconnect(),
  };
}

const model = await startModel();
const config = readConfig({
  DATABASE_URL: 'postgres://db',
  NATS_URL: 'nats://bus',
  LLM_PROVIDER: 'openai',
  LLM_BASE_URL: `${model.url}/v1`,
  LLM_API_KEY: 'test',
  LLM_MODEL: 'scripted',
  LLM_CONCURRENCY: String(concurrent),
});
const models = new TeamModels({
  config,
  accessOf: () => null,
  budget: { check: () => Promise.resolve(), spend: () => undefined },
});
const modeler = createPageModeler(models, config);

/** @param {string} markdown */
async function readPage(markdown) {
  const startedMs = performance.now();
  const format = { type: 'json', prompt: 'The lamp', schema: SCHEMA, selectors: null, learn: false };
  const request = { id: 'i', team: 't', url: 'http://site.test/', title: null, changes: null, zeroRetention: false };
  const reply = await modeler.answer(
    { ...request, formats: [format], deadlineMs: 60_000 },
    { markdown },
    new AbortController().signal,
  );
  if (!reply.ok || reply.failures.length > 0) throw new Error(JSON.stringify(reply));
  return performance.now() - startedMs;
}

async function measureOverhead() {
  for (let n = 0; n < WARM_UP; n++) await readPage(pageText(n));
  const overheads = [];
  for (let n = 0; n < pages; n++) overheads.push((await readPage(pageText(100 + n))) - MODEL_MS);
  return overheads;
}

/** What is still held: garbage is collected first. */
function heldMb() {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

async function measureMemory() {
  const delays = monitorEventLoopDelay({ resolution: 5 });
  const texts = Array.from({ length: 10 }, (_, n) => pageText(n));
  const waves = [];
  for (let wave = 0; wave < WAVES; wave++) {
    delays.enable();
    await Promise.all(Array.from({ length: concurrent }, (_, n) => readPage(texts[n % texts.length])));
    delays.disable();
    waves.push(heldMb());
    await model.forget();
  }
  const peakMb = process.resourceUsage().maxRSS / 1024;
  return { waves, peakMb, longestMs: delays.max / 1e6, p99Ms: delays.percentile(99) / 1e6 };
}

const overheads = await measureOverhead();
const memory = await measureMemory();
await models.close();
model.stop();

const p50 = percentile(overheads, 0.5);
const settled = memory.waves.slice(1);
const growth = Math.max(...settled) / settled[0];
const report = {
  overheadMs: { p50: round(p50, 1), p90: round(percentile(overheads, 0.9), 1), target: TARGETS.overheadMs },
  heldMb: {
    waves: memory.waves.map((mb) => round(mb, 1)),
    growth: round(growth, 2),
    target: TARGETS.growth,
    peakRss: round(memory.peakMb, 1),
  },
  loopDelayMs: { p99: round(memory.p99Ms, 1), longest: round(memory.longestMs, 1) },
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
process.exitCode = p50 <= TARGETS.overheadMs && growth <= TARGETS.growth ? 0 : 1;
