/** Contents of the messages of a request, found as a model would find them: by what the prompt itself announces. */

export interface Message {
  role: string;
  content: string;
}

export interface ReadBlock {
  label: string;
  url: string | null;
  text: string;
}

const BLOCK = /^<<<DATA (\w+) (\{.*\})>>>\n([\s\S]*?)\n?<<<END \1>>>$/gm;
const SCHEMA = /JSON Schema:\n```json\n(.*)\n```/;

function textOf(messages: readonly Message[]): string {
  return messages.map(({ content }) => content).join('\n\n');
}

/** The data blocks of the prompt, in order. */
export function blocksOf(messages: readonly Message[]): ReadBlock[] {
  return [...textOf(messages).matchAll(BLOCK)].map(([, , head, text]) => {
    const { label, url } = JSON.parse(head!) as { label: string; url?: string };
    return { label, url: url ?? null, text: text! };
  });
}

/** Everything but the data blocks: what a model may take for instructions. */
export function outsideOf(messages: readonly Message[]): string {
  return textOf(messages).replace(BLOCK, '');
}

/** The caller's wish; empty: none. */
export function requestOf(messages: readonly Message[]): string {
  return /^Request:\n([\s\S]*?)(?:\n\nData, in blocks|$(?![\s\S]))/m.exec(outsideOf(messages))?.[1]?.trim() ?? '';
}

/** First line of the prompt. */
export function purposeOf(messages: readonly Message[]): string {
  return /^Task: (.+)$/m.exec(textOf(messages))?.[1] ?? '';
}

/** The schema that the prompt tells in words. */
export function schemaInWords(messages: readonly Message[]): Record<string, unknown> | null {
  const found = SCHEMA.exec(outsideOf(messages.filter(({ role }) => role !== 'assistant')))?.[1];
  return found === undefined ? null : (JSON.parse(found) as Record<string, unknown>);
}
