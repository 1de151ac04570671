import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ScopeSpec } from '@troupe/contracts';
import { compileScope, preparePatterns, type CompiledScope } from '@troupe/frontier';

/** A scope compiled on the event loop, one pattern at a time: whatever else waits comes in between. @throws TroupeError BAD_REQUEST */
export async function compileScopeInSlices(scope: ScopeSpec): Promise<CompiledScope> {
  await preparePatterns(scope, nextTurn);
  return compileScope(scope);
}
