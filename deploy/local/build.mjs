/**
 * Compiles the workspace into dist/ and makes `@troupe/<lib>` resolvable there.
 *
 * tsc leaves `@troupe/*` imports as they are, so each lib gets a one-line package in dist/node_modules
 * that forwards to its compiled front door. Nor does tsc remove the output of a source that is gone: that is done here.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
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

/** tsc compiles only: texts that programs read beside themselves are copied. */
export function copyTexts() {
  for (const top of ['apps', 'libs']) {
    const files = readdirSync(path.join(root, top), { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((name) => name.endsWith('.txt')))
      cpSync(path.join(root, top, file), path.join(root, 'dist', top, file));
  }
}

/** @param {string} dir compiled @param {string} sources the folder it was compiled from; where it is gone, all that is compiled goes */
export function removeStaleFiles(dir, sources) {
  if (!existsSync(dir)) return;
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const compiled = path.join(dir, entry.name);
    const name = /^(.+)\.js(?:\.map)?$/.exec(entry.name)?.[1];
    if (entry.isDirectory()) removeStaleFiles(compiled, path.join(sources, entry.name));
    else if (name !== undefined && !existsSync(path.join(sources, `${name}.ts`))) rmSync(compiled);
  }
}

export function build() {
  mkdirSync(path.join(root, 'dist'), { recursive: true });
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  const run = spawnSync(process.execPath, [tsc, '-p', path.join(root, 'tsconfig.json')], {
    stdio: 'inherit',
    cwd: root,
  });
  for (const top of ['apps', 'libs', 'test']) removeStaleFiles(path.join(root, 'dist', top), path.join(root, top));
  copyTexts();
  linkLibs();
  return run.status ?? 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exit(build());
