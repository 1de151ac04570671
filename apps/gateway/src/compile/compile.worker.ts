/** Entry point of the thread that compiles patterns and schemas of callers. It may be ended at any time. */
import { parentPort, workerData } from 'node:worker_threads';
import { checkPatterns } from '@troupe/frontier';
import { compileSchema, schemaProblem } from '@troupe/json-schema';
import type { JsonSchema } from '@troupe/contracts';
import type { ThreadReply } from '@troupe/judging';

/** A pattern as it is, a schema as JSON. */
export interface CompileTask {
  kind: 'pattern' | 'schema';
  text: string;
}

/** A problem of the task of that index. */
export interface CompileProblem {
  index: number;
  message: string;
}

if (parentPort === null) throw new Error('compile.worker runs in a worker thread');
const port = parentPort;
/** Index of the current task, for the thread that ends this one. */
const inHand = workerData as Int32Array;

function compile(tasks: readonly CompileTask[]): CompileProblem[] {
  const indexes = tasks.flatMap(({ kind }, index) => (kind === 'pattern' ? [index] : []));
  const note = (at: number): void => void Atomics.store(inHand, 0, indexes[at]!);
  const patterns = checkPatterns(
    indexes.map((index) => tasks[index]!.text),
    note,
  ).map(({ index, message }) => ({ index: indexes[index]!, message }));
  return [...patterns, ...tasks.flatMap(schemaProblems)];
}

function schemaProblems({ kind, text }: CompileTask, index: number): CompileProblem[] {
  if (kind !== 'schema') return [];
  Atomics.store(inHand, 0, index);
  const message = schemaProblem(JSON.parse(text) as JsonSchema);
  return message === null ? [] : [{ index, message }];
}

port.on('message', (tasks: CompileTask[]) =>
  port.postMessage({ answer: compile(tasks) } satisfies ThreadReply<CompileProblem[]>),
);
// Loads the validator, so that its loading time counts for no request.
compileSchema({ type: 'object', properties: { text: { type: 'string', pattern: '^a' } } });
checkPatterns(['^/a']);
port.postMessage('ready' satisfies ThreadReply<CompileProblem[]>);
