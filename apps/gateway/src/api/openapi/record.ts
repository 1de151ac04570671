/** Relative to the folder of the project, where its readers run. */
export const recordedFile = 'docs/openapi.json';

export function recordText(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
