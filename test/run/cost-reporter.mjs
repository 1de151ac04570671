/**
 * Tells the test run what CPU time a run of jest took, with all processes that it started and saw end. Linux only. It writes seconds to
 * the file of TROUPE_TEST_COST.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const TICKS_PER_S = 100;
const STAT = '/proc/self/stat';

export default class CostReporter {
  onRunComplete() {
    const file = process.env.TROUPE_TEST_COST;
    if (file === undefined || !existsSync(STAT)) return;
    const stat = readFileSync(STAT, 'utf8');
    const [user, system, userOfChildren, systemOfChildren] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15)
      .map(Number);
    const ticks = user + system + userOfChildren + systemOfChildren;
    writeFileSync(file, String(ticks / TICKS_PER_S));
  }
}
