/**
 * Which lines of the code that the simulation is there for it runs: `npm run simulation-coverage [seeds]`. A line counts when
 * the first statement that begins on it was executed; lines without one (types, comments, braces) do not count.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { Session, type Profiler } from 'node:inspector/promises';
import { SourceMap, type SourceMapping } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { InvariantError } from '@troupe/actors';
import { CrawlWorld } from './crawl-world.js';
import { ModelWorld } from './model-world.js';
import { TroubleWorld } from './trouble-world.js';

const DIST = fileURLToPath(new URL('../../', import.meta.url));
/** Processes, metrics and housekeeping are not the simulation's. */
const ROOMS = [
  'libs/actors/src',
  'libs/politeness/src',
  ...['crawl', 'delivery', 'host', 'model-job', 'model-job/agent', 'model-job/extract', 'pool', 'team'].map(
    (room) => `apps/scheduler/src/${room}`,
  ),
];
const IS_TEST = /\.(spec|fixture)\.js$|fixture\.js$/;
const SEEDS = Number(process.argv[2] ?? 150);

interface FileCount {
  file: string;
  lines: number;
  missed: number[];
}

function filesOf(room: string): string[] {
  const folder = path.join(DIST, room);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.js') && !IS_TEST.test(name) && name !== 'index.js')
    .map((name) => path.join(folder, name));
}

async function runWorlds(): Promise<void> {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const worlds = [new CrawlWorld(seed), new ModelWorld(seed), new TroubleWorld(seed)];
    if (seed % 5 === 0) worlds.push(new CrawlWorld(seed, { hasRuntime: true }));
    for (const world of worlds) {
      await world.run().catch((error: unknown) => {
        if (!(error instanceof InvariantError)) throw error;
      });
    }
  }
}

/** Places in the file that no call has reached: the innermost range decides. */
function isReached(functions: readonly Profiler.FunctionCoverage[], offset: number): boolean {
  let best: Profiler.CoverageRange | null = null;
  for (const { ranges } of functions) {
    for (const range of ranges) {
      if (offset < range.startOffset || offset >= range.endOffset) continue;
      if (best === null || range.endOffset - range.startOffset <= best.endOffset - best.startOffset) best = range;
    }
  }
  return best === null || best.count > 0;
}

function countLines(file: string, functions: readonly Profiler.FunctionCoverage[]): FileCount {
  const script = readFileSync(file, 'utf8');
  const map = new SourceMap(
    JSON.parse(readFileSync(`${file}.map`, 'utf8')) as ConstructorParameters<typeof SourceMap>[0],
  );
  const reached = new Map<number, boolean>();
  let offset = 0;
  for (const [at, text] of script.split('\n').entries()) {
    const column = text.search(/[A-Za-z0-9_$([{'"`!~+-]/);
    const isStatement = column >= 0 && !/^\s*(\*|\/\/|\/\*|import |export \{|export \*|\}|\))/.test(text);
    const entry = isStatement ? map.findEntry(at, column) : {};
    if ('originalLine' in entry) {
      const line = (entry as SourceMapping).originalLine + 1;
      reached.set(line, (reached.get(line) ?? true) && isReached(functions, offset + column));
    }
    offset += text.length + 1;
  }
  const missed = [...reached].flatMap(([line, isThere]) => (isThere ? [] : [line]));
  return { file: path.relative(DIST, file), lines: reached.size, missed };
}

function share(counts: readonly FileCount[]): string {
  const lines = counts.reduce((sum, count) => sum + count.lines, 0);
  const missed = counts.reduce((sum, count) => sum + count.missed.length, 0);
  return `${((100 * (lines - missed)) / lines).toFixed(1)} % of ${lines} lines`;
}

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
await runWorlds();
const { result } = await session.post('Profiler.takePreciseCoverage');
const covered = new Map(result.map(({ url, functions }) => [url, functions]));
const all: FileCount[] = [];
for (const room of ROOMS) {
  const counts = filesOf(room).map((file) => {
    const functions = covered.get(pathToFileURL(file).href);
    const count = countLines(file, functions ?? []);
    return functions === undefined ? { ...count, missed: Array.from({ length: count.lines }, (_, i) => i) } : count;
  });
  all.push(...counts);
  process.stdout.write(`${room}: ${share(counts)}\n`);
  for (const { file, lines, missed } of counts)
    if (missed.length > 0)
      process.stdout.write(
        `  ${file.replace(/\.js$/, '.ts')}: ${missed.length} of ${lines} not run: ${missed.join(' ')}\n`,
      );
}
process.stdout.write(`all: ${share(all)}\n`);
