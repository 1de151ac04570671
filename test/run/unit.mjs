/**
 * `npm run unit [-- pattern …] [--watch]`: the specs beside their sources, from TypeScript as it lies there. No build, no servers.
 * Further arguments go to jest: `--watch` runs again the specs that a change concerns, `-t name` one test.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureNode } from '../../deploy/local/parts/node.mjs';
import { root } from '../../deploy/local/places.mjs';
import { installPackages } from '../../deploy/local/prepare.mjs';

const jest = path.join(root, 'node_modules/jest/bin/jest.js');
const HELP = `npm run unit -- <pattern …> [flags of jest]

  Runs the specs of apps and libs whose path matches, from their sources, without a build and without servers.

  --watch       runs again what a change concerns
  -t <name>     only tests whose name matches

Specs with servers, browsers or a cluster are in test/: npm test -- <pattern>`;

const args = process.argv.slice(2);
if (args.includes('--help')) {
  console.log(HELP);
  process.exit(0);
}
await ensureNode();
if (!existsSync(jest)) await installPackages();
const hooks = pathToFileURL(path.join(root, 'test/run/source-hooks.mjs')).href;
const options = [process.env.NODE_OPTIONS, '--import', hooks].join(' ').trim();
const run = spawnSync(
  process.execPath,
  ['--no-warnings', '--experimental-vm-modules', jest, '--config', 'jest.unit.config.mjs', ...args],
  {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: options },
    stdio: 'inherit',
  },
);
process.exit(run.status ?? 1);
