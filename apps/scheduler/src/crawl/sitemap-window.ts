/**
 * Sitemap files that wait to be opened: a bounded window of each level of an index, because the window is part of the
 * job's state. Files that do not fit are read again from the file that names them. Each level has a budget of its own,
 * so that files below always find room and those above wait for them. The last level names no files, so the work ends.
 */
export interface PendingSitemap {
  url: string;
  level: number;
}

const LEVEL_BYTES = 4_096;
/** Nearly all indexes are of one level. */
const CHILDREN_BYTES = 16_384;
/** Size of an entry beside its URL. */
const ENTRY_BYTES = 30;
/** The next files are asked for when so few are left. */
const FEW = 4;

/**
 * Number of files, from the first on, that have room beside the known ones; at least one when none of the level is
 * known.
 */
export function howManyFit(urls: readonly string[], level: number, known: readonly PendingSitemap[]): number {
  const ofLevel = known.filter((entry) => entry.level === level);
  let room = level === 2 ? CHILDREN_BYTES : LEVEL_BYTES;
  for (const { url } of ofLevel) room -= url.length + ENTRY_BYTES;
  let count = 0;
  for (; count < urls.length; count++) {
    room -= urls[count]!.length + ENTRY_BYTES;
    if (room < 0 && ofLevel.length + count > 0) break;
  }
  return count;
}

export function isNearlyRead(level: number, pending: readonly PendingSitemap[]): boolean {
  return pending.filter((entry) => entry.level === level).length < FEW;
}
