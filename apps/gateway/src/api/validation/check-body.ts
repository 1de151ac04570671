/** The whole check of a body: its fields, and then what only compiling can tell. */
import type { BodyOwner } from '../../auth/body-owner.js';
import { CompileThread } from '../../compile/compile-thread.js';
import { customIssue, InvalidBodyError, type ToCompile } from './issue.js';
import { readBody, type ReadBody } from './read-body.js';

/** Of the whole process. */
const thread = new CompileThread();

/** Of a body that comes with nobody. */
const NOBODY: BodyOwner = { team: '', hasModel: true };

/**
 * `readBody`, with patterns and schemas compiled.
 * @throws InvalidBodyError with all issues of the fields, or with all that compiling tells
 * @throws ApiError 429 when too many requests of the team wait for that
 */
export async function checkBody<T extends object>(
  type: new () => T,
  raw: unknown,
  owner: BodyOwner = NOBODY,
): Promise<ReadBody<T>> {
  const { body, warnings, toCompile } = readBody(type, raw);
  await compileAll(toCompile, owner);
  return { body, warnings };
}

async function compileAll(all: readonly ToCompile[], { team, hasModel }: BodyOwner): Promise<void> {
  const asked = all.filter(({ needsModel }) => hasModel || !needsModel);
  if (asked.length === 0) return;
  const problems = await thread.check(
    team,
    asked.map(({ task }) => task),
  );
  if (problems.length === 0) return;
  throw new InvalidBodyError(problems.map(({ index, message }) => customIssue(message, asked[index]!.path)));
}
