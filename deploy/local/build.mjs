/**
 * Compiles the workspace into dist/ and makes `@troupe/<lib>` resolvable there.
 *
 * tsc leaves `@troupe/*` imports as they are, so each lib gets a one-line package in dist/node_modules
 * that forwards to its compiled front door.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

export function linkLibs() {
  for (const lib of readdirSync(path.join(root, 'libs'))) {
    const dir = path.join(root, 'dist/node_modules/@troupe', lib);
    mkdirSync(dir, { recursive: true });
    writeFileSync(
      path.join(dir, 'package.json'),
      JSON.stringify({ name: `@troupe/${lib}`, type: 'module', main: 'index.js' }),
    );
    writeFileSync(path.join(dir, 'index.js'), `export * from '../../../libs/${lib}/src/index.js';\n`);
  }
  writeFileSync(path.join(root, 'dist/package.json'), JSON.stringify({ type: 'module' }));
}

export function build() {
  mkdirSync(path.join(root, 'dist'), { recursive: true });
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  const run = spawnSync(process.execPath, [tsc, '-p', path.join(root, 'tsconfig.json')], {
    stdio: 'inherit',
    cwd: root,
  });
  linkLibs();
  return run.status ?? 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exit(build());
