/** The whole check of a body: its fields, and then its patterns and schemas. */
import { Injectable } from '@nestjs/common';
import type { BodyOwner } from '../../auth/body-owner.js';
import { CompileThread } from '../../compile/compile-thread.js';
import { customIssue, InvalidBodyError, type ToCompile } from './issue.js';
import { readBody, type ReadBody } from './read-body.js';

/** Owner of a body that comes without a caller. */
const NO_OWNER: BodyOwner = { team: '', hasModel: true };

@Injectable()
export class BodyCheck {
  constructor(private readonly thread: CompileThread) {}

  /**
   * `readBody`, with patterns and schemas compiled.
   * @throws InvalidBodyError with all issues of the fields, or with all of the compiler
   * @throws ApiError 429 when too many requests of the team wait for that
   */
  async read<T extends object>(type: new () => T, raw: unknown, owner: BodyOwner = NO_OWNER): Promise<ReadBody<T>> {
    const { body, warnings, toCompile } = readBody(type, raw);
    await this.compileAll(toCompile, owner);
    return { body, warnings };
  }

  private async compileAll(all: readonly ToCompile[], { team, hasModel }: BodyOwner): Promise<void> {
    const asked = all.filter(({ needsModel }) => hasModel || !needsModel);
    if (asked.length === 0) return;
    const tasks = asked.map(({ task }) => task);
    const problems = await this.thread.check(team, tasks);
    if (problems.length === 0) return;
    throw new InvalidBodyError(problems.map(({ index, message }) => customIssue(message, asked[index]!.path)));
  }
}
