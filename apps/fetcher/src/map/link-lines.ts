import type { MapLink } from '@troupe/contracts';
import { TimeSlice } from '@troupe/observability';

/** Links as they travel: one JSON object a line. */
export async function encodeLinks(links: MapLink[]): Promise<Uint8Array> {
  const slice = new TimeSlice();
  const parts: Buffer[] = [];
  let lines = '';
  for (const link of links) {
    lines += `${JSON.stringify(link)}\n`;
    if (!slice.isOver) continue;
    parts.push(Buffer.from(lines));
    lines = '';
    await slice.next();
  }
  return Buffer.concat([...parts, Buffer.from(lines)]);
}
