/** Entry point of the thread that merges the facts of many pages. */
import { parentPort } from 'node:worker_threads';
import type { JsonSchema } from '@troupe/contracts';
import { mergeValues, type MergedValue, type SourcedValue } from '@troupe/extraction';

export interface MergeTask {
  schema: JsonSchema | null;
  values: SourcedValue[];
}

export type MergeReply = { merged: MergedValue } | { error: string };

if (parentPort === null) throw new Error('merge.worker runs in a worker thread');
const port = parentPort;
port.on('message', ({ schema, values }: MergeTask) => {
  try {
    port.postMessage({ merged: mergeValues(schema, values) } satisfies MergeReply);
  } catch (error) {
    port.postMessage({ error: String(error) } satisfies MergeReply);
  }
});
