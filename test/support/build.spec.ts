import { expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { workspace } from './cluster.js';

const { removeStaleFiles } = (await import(pathToFileURL(path.join(workspace, 'deploy/local/build.mjs')).href)) as {
  removeStaleFiles(dir: string, sources: string): void;
};

it('a build leaves nothing compiled whose source is gone: no spec runs that is no longer there', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'troupe-build-'));
  const write = (file: string): void => {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), '');
  };
  const sources = ['src/libs/a/kept.ts', 'src/libs/a/kept.spec.ts'];
  const kept = ['kept.js', 'kept.js.map', 'kept.spec.js', 'kept.spec.js.map', 'words.json'].map((name) => `a/${name}`);
  const ghosts = ['a/gone.spec.js', 'a/gone.spec.js.map', 'a/deep/gone.js', 'old/moved.spec.js'];
  try {
    for (const file of [...sources, ...[...kept, ...ghosts].map((name) => `dist/libs/${name}`)]) write(file);
    removeStaleFiles(path.join(folder, 'dist/libs'), path.join(folder, 'src/libs'));
    removeStaleFiles(path.join(folder, 'dist/none'), path.join(folder, 'src/none'));
    const left = readdirSync(path.join(folder, 'dist/libs'), { recursive: true, withFileTypes: true });
    const files = left.filter((entry) => entry.isFile());
    expect(files.map((file) => `${path.basename(file.parentPath)}/${file.name}`).sort()).toEqual([...kept].sort());
    expect(readdirSync(path.join(folder, 'src/libs/a'))).toHaveLength(2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
