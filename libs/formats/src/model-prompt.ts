/** Prompt and schema of a model's format, between words and model. */
import type { JsonSchema } from '@troupe/contracts';
import type { ModelPrompt } from './format-kind.js';

export function modelPromptFromV2({ prompt, schema }: Record<string, unknown>): ModelPrompt {
  return { prompt: (prompt as string | undefined) ?? null, schema: (schema as JsonSchema | undefined) ?? null };
}

export function modelPromptToV2({ prompt, schema }: ModelPrompt): object {
  return { ...(prompt === null ? {} : { prompt }), ...(schema === null ? {} : { schema }) };
}

/** v1 has a system prompt, too: it is the caller's wish like the prompt. */
export function modelPromptFromV1({ systemPrompt, prompt, schema }: Record<string, unknown> = {}): Record<
  string,
  unknown
> {
  const words = [systemPrompt, prompt].filter((text) => typeof text === 'string' && text !== '').join('\n\n');
  return { ...(words === '' ? {} : { prompt: words }), ...(schema === undefined ? {} : { schema }) };
}
