/**
 * `npm start`: sets up what is missing, then runs a cluster or a job on one. Nothing but Node itself is imported, so that
 * this works in a fresh clone.
 */
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(
    `troupe    | Node ${process.versions.node} is too old: 20.19 or newer is needed (https://nodejs.org).\n`,
  );
  process.exit(3);
}
if (process.platform === 'win32') {
  process.stderr.write(
    'troupe    | Windows is not supported here; use WSL (https://learn.microsoft.com/windows/wsl).\n',
  );
  process.exit(3);
}

const { main } = await import('./main.mjs');
await main(process.argv.slice(2));
