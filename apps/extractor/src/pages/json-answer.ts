/** Format `json`: facts of a page by the caller's schema, prompt or both (docs/api/formats.md, "json behaviour"). */
import { TroupeError, type JsonSchema } from '@troupe/contracts';
import { estimateTokens, mergeSteps } from '@troupe/extraction';
import type { PageAnswer, SchemaCheck } from '../models/schema-check.js';
import { JSON_OF_MERGED, JSON_OF_PAGE, JSON_OF_PART } from './instructions.js';
import { promptTokens, type PageCalls } from './page-calls.js';
import { readParts, type PageText } from './read-parts.js';
import { relaxedSchema, schemaLike } from './relaxed-schema.js';
import { inSlices } from './turns.js';

export interface JsonWish {
  prompt: string | null;
  schema: JsonSchema | null;
  /** The caller's words about how to answer. @default none */
  systemPrompt?: string | null;
}

/** Without a schema the answer is an object with the prompt's own fields. */
const ANY_OBJECT: JsonSchema = { type: 'object' };
const PLAIN_REQUEST = 'All facts that the schema names.';
/** Share left for one call that brings the merged facts into the schema's form. */
const SPARE = 0.1;

export async function answerJson(
  page: PageText,
  wish: JsonWish,
  { calls, check }: { calls: PageCalls; check: SchemaCheck },
): Promise<PageAnswer> {
  const request = requestOf(wish);
  let partSchema = wish.schema === null ? null : relaxedSchema(wish.schema);
  const { values, isWhole, warnings } = await readParts<unknown>(page, {
    calls,
    promptTokens: promptTokens(JSON_OF_PART, request, wish.schema),
    spare: SPARE,
    firstAlone: wish.schema === null,
    async read(block, isWhole) {
      const schema = (isWhole ? wish.schema : partSchema) ?? ANY_OBJECT;
      const instructions = isWhole ? JSON_OF_PAGE : JSON_OF_PART;
      const value = await calls.ask({ purpose: 'json', instructions, request, data: [block], schema });
      if (!isWhole) partSchema ??= schemaLike(value);
      return value;
    },
  });
  if (isWhole) return { value: values[0], warnings };
  const sourced = values.map((value) => ({ value, source: page.label }));
  const merged = await inSlices(mergeSteps(wish.schema, sourced));
  if (wish.schema === null) return { value: merged.value, warnings };
  return { value: await inForm(merged.value, { schema: wish.schema, request, calls, check }), warnings };
}

/**
 * Parts may lack required fields of the whole. So the merged value is checked again, and brought into form once by the
 * model.
 */
async function inForm(
  merged: unknown,
  { schema, request, calls, check }: { schema: JsonSchema; request: string; calls: PageCalls; check: SchemaCheck },
): Promise<unknown> {
  const checked = await check(schema, merged);
  if (checked.ok) {
    calls.note(checked.notes);
    return checked.value;
  }
  const text = JSON.stringify(merged);
  if (estimateTokens(text) > calls.roomBeside(promptTokens(JSON_OF_MERGED, request, schema))) {
    throw new TroupeError('SCRAPE_JSON_FAILED', `The facts of the page do not satisfy the schema: ${checked.problem}`);
  }
  const data = [{ label: 'facts of the parts', url: null, text }];
  return calls.ask({ purpose: 'json', instructions: JSON_OF_MERGED, request, data, schema });
}

function requestOf({ prompt, systemPrompt = null }: JsonWish): string {
  const words = [systemPrompt, prompt].filter((text) => text !== null && text.trim() !== '');
  return words.length === 0 ? PLAIN_REQUEST : words.join('\n\n');
}
