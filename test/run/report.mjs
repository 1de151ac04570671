/** Where the time of a test run went. */
import { shortName } from './groups.mjs';

const SLOWEST = 15;
const LINES_OF_A_FAILURE = 15;

/**
 * @typedef {object} Tally
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {boolean} ok
 */

/**
 * @typedef {object} FileResult
 * @property {string} spec its path
 * @property {number} ms
 * @property {Tally} tally
 * @property {string[]} failures title and message of each test that failed
 */

/**
 * @typedef {object} GroupResult
 * @property {import('./groups.mjs').SpecGroup} group
 * @property {Tally} tally
 * @property {number} startMs since the first group
 * @property {number} wallMs
 * @property {number | null} cpuS null where it is unknown: a shared cluster outlives the run of jest that would count it
 * @property {FileResult[]} files none when it ended without a word
 */

/** @param {number} ms */
const seconds = (ms) => (ms / 1000).toFixed(0).padStart(5);

/** @param {GroupResult} result */
function groupLine({ group, startMs, wallMs, cpuS, tally }) {
  const cpu = cpuS === null ? '    ?' : seconds(cpuS * 1000);
  return `${seconds(startMs)} ${seconds(wallMs)} ${cpu} ${String(group.places).padStart(6)} ${String(tally.passed).padStart(6)}  ${group.name}`;
}

/** @param {GroupResult[]} results @param {{ places: number, wallMs: number }} run @returns {string[]} */
export function timeTable(results, { places, wallMs }) {
  const files = results.flatMap((result) => result.files).sort((a, b) => b.ms - a.ms);
  const cpuS = results.reduce((sum, result) => sum + (result.cpuS ?? 0), 0);
  const groups = [...results].sort((a, b) => a.startMs - b.startMs);
  return [
    'start  wall   cpu places passed  group (s)',
    ...groups.map(groupLine),
    `${seconds(wallMs)} s in all, ${cpuS.toFixed(0)} s of CPU where it is known, ${places} places`,
    'slowest files (s):',
    ...files.slice(0, SLOWEST).map(({ spec, ms }) => `${seconds(ms)}  ${shortName(spec)}`),
  ];
}

/** @param {string} text @returns {string[]} without the frames of other people's code */
const linesOfOurs = (text) => text.split('\n').filter((line) => !/node_modules|node:internal/.test(line));

/** @param {GroupResult[]} results @returns {string[]} what failed, told once more where the end of a long output is read */
export function failureLines(results) {
  return results.flatMap(({ group, files, tally }) => {
    const told = files.flatMap(({ spec, failures }) => failures.map((text) => `${shortName(spec)}: ${text}`));
    if (told.length === 0 && !tally.ok) told.push(`${group.name}: ended without saying what failed`);
    return told.flatMap((text) => ['', ...linesOfOurs(text).slice(0, LINES_OF_A_FAILURE)]);
  });
}

/** @param {Tally[]} tallies @returns {Tally} */
export function addUp(tallies) {
  const sum = (/** @type {'passed' | 'failed' | 'skipped'} */ key) =>
    tallies.reduce((total, tally) => total + tally[key], 0);
  return {
    passed: sum('passed'),
    failed: sum('failed'),
    skipped: sum('skipped'),
    ok: tallies.every((tally) => tally.ok),
  };
}
