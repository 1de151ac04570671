/** Checks values against the schemas of callers, off the event loop: a schema of some KB may take a second to compile. */
import type { JsonSchema } from '@troupe/contracts';
import { SchemaError, schemaSizeProblem } from '@troupe/json-schema';
import { OverrunError } from './bounded-thread.js';
import { JudgeThread } from './judge-thread.js';

export interface ValuesQuestion {
  schema: JsonSchema;
  /** The value; absent: only the schema is checked. */
  given?: { value: unknown };
}

/** `unusable`: the fault of the schema. */
export type ValuesAnswer = { problems: string[] } | { unusable: string };

const DEADLINE_MS = 2_000;
const MAX_HEAP_MB = 384;

const thread = new JudgeThread<ValuesQuestion, ValuesAnswer>({
  script: new URL('./values.worker.js', import.meta.url),
  deadlineMs: DEADLINE_MS,
  maxHeapMb: MAX_HEAP_MB,
});

/**
 * Faults of a value, in words for its author; empty: it satisfies the schema.
 * @param given absent: only the schema is looked at
 * @throws SchemaError when the schema cannot be used, or takes too long
 */
export async function problemsOf(schema: JsonSchema, given?: { value: unknown }): Promise<string[]> {
  const tooLarge = schemaSizeProblem(schema);
  if (tooLarge !== null) throw new SchemaError(tooLarge);
  const answer = await thread.ask({ schema, given }).catch((error: unknown) => {
    if (error instanceof OverrunError) return { unusable: `The schema cannot be used: ${error.message}` };
    throw error;
  });
  if ('unusable' in answer) throw new SchemaError(answer.unusable);
  return answer.problems;
}
