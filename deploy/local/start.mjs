/**
 * `npm start`: sets up what is missing, then runs a cluster or a job on one. Nothing but Node itself is imported, so that
 * this works in a fresh clone.
 */
import { ensureNode } from './parts/node.mjs';

if (process.platform === 'win32') {
  process.stderr.write(
    'troupe    | Windows is not supported here; use WSL (https://learn.microsoft.com/windows/wsl).\n',
  );
  process.exit(3);
}
await ensureNode();

const { main } = await import('./main.mjs');
await main(process.argv.slice(2));
