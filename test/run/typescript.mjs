/** TypeScript to JavaScript, file by file as `isolatedModules` allows, for `npm run unit`. Types are checked by `npm run check`. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const tsconfig = fileURLToPath(new URL('../../tsconfig.json', import.meta.url));
const { config } = ts.readConfigFile(tsconfig, (file) => readFileSync(file, 'utf8'));
const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, '.');
const compilerOptions = {
  ...options,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  incremental: false,
  tsBuildInfoFile: undefined,
  paths: undefined,
  sourceMap: false,
  inlineSourceMap: true,
  inlineSources: true,
};
const version = JSON.stringify(compilerOptions) + ts.version;

/** @param {string} source @param {string} file @returns {string} */
export const compile = (source, file) => ts.transpileModule(source, { fileName: file, compilerOptions }).outputText;

/** @param {string} source @param {string} file @returns {string} the same for what compiles to the same */
export const keyOf = (source, file) => createHash('sha256').update(version).update(file).update(source).digest('hex');
