/** Prints the folder that must come first on PATH so that `node` is new enough, or nothing when it is. For shell scripts. */
import { StartFailure } from './failure.mjs';
import { nodeFolder } from './parts/node.mjs';
import { say } from './say.mjs';

try {
  process.stdout.write((await nodeFolder()) ?? '');
} catch (error) {
  if (!(error instanceof StartFailure)) throw error;
  say(error.message);
  process.exit(error.exitCode);
}
