/**
 * Compares the clocks of two machines. Troupe's own use of times tolerates seconds; signatures and certificates
 * tolerate minutes.
 */
import { failure, fine, warning, type Finding } from '../finding.js';

const NOTABLE_MS = 2_000;
const GRAVE_MS = 300_000;
const MEND = 'Let a time service (chrony, systemd-timesyncd) set the clocks of both machines.';

/** @param skewMs their clock less ours */
export function compareClocks(other: string, skewMs: number): Finding {
  const about = `clock (${other})`;
  const size = Math.abs(skewMs);
  const text = `${other} is ${(size / 1000).toFixed(size < 10_000 ? 1 : 0)} s ${skewMs < 0 ? 'behind' : 'ahead'}`;
  if (size < NOTABLE_MS) return fine(about, text);
  return size < GRAVE_MS ? warning(about, text, MEND) : failure(about, text, MEND);
}
