/** Whoever reads it runs in the folder of the project. */
export const recordedFile = 'docs/openapi.json';

export function recordText(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
