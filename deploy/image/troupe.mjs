#!/usr/bin/env node
/**
 * Entry point of the image: `troupe <role>` runs one service, `troupe migrate` brings the tables up to date, `troupe doctor`
 * says what is wrong.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const ROLES = ['gateway', 'scheduler', 'fetcher', 'converter', 'extractor', 'dispatcher'];
const USAGE = `usage: troupe <role>

  ${ROLES.join(', ')}   run that service
  migrate   bring the tables up to date and end
  doctor    look at everything the settings name, say how to mend it, and end; --json for machines

Settings are environment variables, see .env.example.
`;

/** @param {string | undefined} role */
function moduleOf(role) {
  if (role === 'doctor') return 'dist/apps/doctor/src/main.js';
  if (role === 'migrate') return 'dist/libs/persistence/src/migrate.main.js';
  return role !== undefined && ROLES.includes(role) ? `dist/apps/${role}/src/main.js` : null;
}

const role = process.argv[2];
const entry = moduleOf(role);
if (role === '--help' || role === 'help') {
  process.stdout.write(USAGE);
} else if (entry === null) {
  process.stderr.write(`${role === undefined ? 'which role?' : `unknown role: ${role}`}\n\n${USAGE}`);
  process.exitCode = 64;
} else if (!existsSync(path.join(root, entry))) {
  process.stderr.write(`${entry} is not there: build the workspace first (npm run build)\n`);
  process.exitCode = 70;
} else {
  // What is run believes that it was called itself.
  process.argv.splice(1, 2, path.join(root, entry));
  await import(pathToFileURL(path.join(root, entry)).href);
}
