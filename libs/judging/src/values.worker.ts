/** Entry point of the thread that knows schemas, compiled ones kept; it may be ended at any time. */
import { parentPort } from 'node:worker_threads';
import { compileSchema, SchemaError } from '@troupe/json-schema';
import type { ThreadReply } from './bounded-thread.js';
import type { ValuesAnswer, ValuesQuestion } from './values.js';

if (parentPort === null) throw new Error('values.worker runs in a worker thread');
const port = parentPort;

function judge({ schema, given }: ValuesQuestion): ThreadReply<ValuesAnswer> {
  try {
    const compiled = compileSchema(schema);
    return { answer: { problems: given === undefined ? [] : compiled.problemsOf(given.value) } };
  } catch (error) {
    if (error instanceof SchemaError) return { answer: { unusable: error.message } };
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

port.on('message', (question: ValuesQuestion) => port.postMessage(judge(question)));
// Loads the validator here, so that no question pays for it.
compileSchema({ type: 'object', properties: { text: { type: 'string', pattern: '^a' } } });
port.postMessage('ready' satisfies ThreadReply<unknown>);
