/** Lets the threads and processes that a spec starts load TypeScript too: what NODE_OPTIONS imports is handed on to all of them. */
import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';

/** Jest itself compiles by its own transform, and should start fast. */
const isJest = isMainThread && process.argv[1]?.endsWith('/jest.js');

if (!isJest) {
  const { compile } = await import('./typescript.mjs');
  const libs = new URL('../../libs/', import.meta.url);

  /** @param {string} specifier @param {string | undefined} parent @returns {string | null} the source that is meant */
  const sourceOf = (specifier, parent) => {
    const lib = /^@troupe\/([^/]+)$/.exec(specifier)?.[1];
    if (lib !== undefined) return new URL(`${lib}/src/index.ts`, libs).href;
    if (!/^(?:\.{1,2}\/|file:).+\.js$/.test(specifier)) return null;
    const url = new URL(specifier.replace(/\.js$/, '.ts'), parent);
    return existsSync(url) ? url.href : null;
  };

  registerHooks({
    resolve(specifier, context, next) {
      const url = sourceOf(specifier, context.parentURL);
      return url === null ? next(specifier, context) : { url, format: 'module', shortCircuit: true };
    },
    load(url, context, next) {
      if (!url.endsWith('.ts')) return next(url, context);
      const file = fileURLToPath(url);
      return { format: 'module', source: compile(readFileSync(file, 'utf8'), file), shortCircuit: true };
    },
  });
}
