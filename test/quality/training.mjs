/** Runs the trainer: a Python environment of its own in the cache folder, the packages of requirements.txt, train_blocks.py. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { cacheDir, root } from '../../deploy/local/places.mjs';
import { say } from '../../deploy/local/say.mjs';
import { lines } from './json-lines.mjs';
import { pagesDir, whyNoKit } from './kit.mjs';

const requirements = path.join(root, 'test/quality/requirements.txt');
/** The oldest that the packages run on. */
const LEAST_PYTHON = [3, 11];
const python = process.env.TROUPE_PYTHON ?? 'python3';

/** @returns {number[] | null} major and minor number */
function pythonVersion() {
  const { status, stdout } = spawnSync(python, ['-c', 'import sys, venv; print(*sys.version_info[:2])'], {
    encoding: 'utf8',
  });
  return status === 0 ? stdout.trim().split(' ').map(Number) : null;
}

/** One sentence when nothing can be trained here, null when all is there. */
export function whyNoTraining() {
  const noKit = whyNoKit();
  if (noKit !== null) return noKit.replace('No quality was measured', 'Nothing was trained');
  const version = pythonVersion();
  const needed = LEAST_PYTHON.join('.');
  if (version === null)
    return `Nothing was trained: ${python} does not run or has no venv (TROUPE_PYTHON names a Python of ${needed} or newer).`;
  const [major = 0, minor = 0] = version;
  const isNewEnough = major > LEAST_PYTHON[0] || (major === LEAST_PYTHON[0] && minor >= LEAST_PYTHON[1]);
  if (isNewEnough) return null;
  return `Nothing was trained: ${python} is ${version.join('.')}, the packages need ${needed} (TROUPE_PYTHON names another).`;
}

/** @param {string} command @param {string[]} args */
async function run(command, args) {
  const env = { ...process.env, PYTHONHASHSEED: '0', PATH: `${path.dirname(process.execPath)}:${process.env.PATH}` };
  const child = spawn(command, args, { stdio: ['ignore', 2, 2], env });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  if (code !== 0) throw new Error(`${command} ${args.slice(0, 2).join(' ')} ended with exit code ${code}`);
}

/** @returns {Promise<string>} the program of a Python that has the packages */
async function preparePython() {
  const wanted = createHash('sha256')
    .update(readFileSync(requirements))
    .update(String(pythonVersion()))
    .digest('hex')
    .slice(0, 12);
  const folder = path.join(cacheDir(), `quality-python-${wanted}`);
  const program = path.join(folder, 'bin/python');
  const stamp = path.join(folder, '.complete');
  if (existsSync(stamp)) return program;
  say(`installing the trainer's packages into ${folder} (600 MB) …`);
  mkdirSync(path.dirname(folder), { recursive: true });
  await run(python, ['-m', 'venv', '--clear', folder]);
  const quiet = ['--quiet', '--disable-pip-version-check', '--no-input'];
  await run(program, ['-m', 'pip', 'install', ...quiet, '--no-deps', '--only-binary', ':all:', '-r', requirements]);
  writeFileSync(stamp, '');
  return program;
}

/**
 * Pages as the trainer saw them, each with the share of its blocks that is content (below 0: unknown).
 *
 * @param {string} work folder that the trainer has filled
 * @returns {AsyncGenerator<{ page: any, own: Float32Array }>}
 */
export async function* labelledPages(work) {
  const bytes = readFileSync(path.join(work, 'labels.f32'));
  const labels = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  let from = 0;
  for await (const line of lines(createReadStream(path.join(work, 'pages.jsonl')))) {
    if (line === '') continue;
    const page = JSON.parse(line);
    yield { page, own: labels.subarray(from, from + page.blocks.length) };
    from += page.blocks.length;
  }
}

/** @param {string} work folder that is filled @param {string[]} options of train_blocks.py */
export async function runTrainer(work, options) {
  const program = await preparePython();
  mkdirSync(work, { recursive: true });
  await run(program, [path.join(root, 'test/quality/train_blocks.py'), pagesDir, path.resolve(work), ...options]);
}
