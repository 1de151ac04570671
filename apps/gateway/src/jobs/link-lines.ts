import { type MapLink } from '@troupe/contracts';
import { TimeSlice } from '@troupe/observability';

const LINE_END = 10;

/** Links as a fetcher sends them, one JSON object a line; read in slices, as there may be a hundred thousand. */
export async function decodeLinks(lines: Uint8Array): Promise<MapLink[]> {
  const bytes = Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength);
  const slice = new TimeSlice();
  const links: MapLink[] = [];
  for (let from = 0, end = bytes.indexOf(LINE_END); end >= 0; from = end + 1, end = bytes.indexOf(LINE_END, from)) {
    links.push(JSON.parse(bytes.toString('utf8', from, end)) as MapLink);
    if (slice.isOver) await slice.next();
  }
  return links;
}
