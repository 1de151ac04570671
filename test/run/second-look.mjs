/**
 * A spec that failed beside others may have failed for want of the machine: it is run once more, alone, when all else has ended.
 * A spec that fails again has failed; one that passes then is flaky, and is told by name.
 */
import { makeGroups, shortName } from './groups.mjs';
import { addUp } from './report.mjs';

/** More failures than these are a defect, not a busy machine. */
const MAX_SPECS = 3;

/** These prove that nothing goes wrong in any order of events: one failure is a finding, however often they pass. */
const NO_SECOND_LOOK = /\/test\/(?:chaos|simulation|adapters)\//;

/** @param {import('./report.mjs').FileResult} file */
const hasFailed = ({ tally }) => !tally.ok;

/**
 * @param {import('./report.mjs').GroupResult[]} results
 * @returns {string[]} specs; none if too many failed, one had the whole run to itself, or a group ended without telling which
 */
export function pickSecondLooks(results) {
  const isSilent = results.some(({ tally, files }) => !tally.ok && !files.some(hasFailed));
  const files = results.flatMap((result) => result.files);
  const failed = files.filter(hasFailed).map(({ spec }) => spec);
  return isSilent || files.length === 1 || failed.length > MAX_SPECS
    ? []
    : failed.filter((spec) => !NO_SECOND_LOOK.test(spec));
}

/** @param {string} spec @returns {import('./groups.mjs').SpecGroup} of this spec alone */
export function groupOfSecondLook(spec) {
  const [group] = makeGroups([spec]);
  return { .../** @type {import('./groups.mjs').SpecGroup} */ (group), name: `again: ${shortName(spec)}` };
}

/**
 * Puts second looks in the place of first ones.
 *
 * @param {import('./report.mjs').GroupResult[]} results
 * @param {import('./report.mjs').GroupResult[]} looks of one spec each
 * @returns {import('./report.mjs').Tally & { flaky: string[] }} what counts, and short names of the specs that passed only alone
 */
export function settleLooks(results, looks) {
  const passed = new Map(
    looks.filter(({ tally }) => tally.ok).flatMap(({ files }) => files.map(({ spec, tally }) => [spec, tally])),
  );
  const tallies = results.map(({ tally, files }) =>
    files.some(({ spec }) => passed.has(spec))
      ? addUp(files.map((file) => passed.get(file.spec) ?? file.tally))
      : tally,
  );
  return { ...addUp(tallies), flaky: [...passed.keys()].map(shortName) };
}

/** @param {string[]} flaky names @returns {string} `2 flaky: e2e/map, e2e/cache`; their first failures stand above it */
export const flakyLine = (flaky) =>
  [`${flaky.length} flaky`, ...(flaky.length > 0 ? [flaky.join(', ')] : [])].join(': ');
