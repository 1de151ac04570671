import { fileURLToPath } from 'node:url';

/** Seen from the compiled tree. */
export const recordedFile = fileURLToPath(new URL('../../../../../../docs/openapi.json', import.meta.url));

export function recordText(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
