/** Selectors on real pages of the quality kit against what people labelled there. */
import { expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { workspace } from '../support/cluster.js';

const { whyNoKit } = (await import(pathToFileURL(path.join(workspace, 'test/quality/kit.mjs')).href)) as {
  whyNoKit(): string | null;
};
const noKit = whyNoKit();
if (noKit !== null) console.warn(noKit);

const TIMEOUT_MS = 120_000;

interface Result {
  facts: number;
  sites: number;
  tables: number;
  wrong: { id: string; found: unknown; wanted: unknown }[];
}

(noKit === null ? it : it.skip)(
  'selectors read titles, authors, dates and tables of the kit exactly as they are labelled',
  () => {
    const script = path.join(workspace, 'test/quality/selectors.mjs');
    const output = execFileSync(process.execPath, [script, '--json'], { encoding: 'utf8' });
    const { facts, sites, tables, wrong } = JSON.parse(output) as Result;
    expect(wrong).toEqual([]);
    expect({ facts, sites, tables }).toEqual({ facts: 161, sites: 161, tables: 25 });
  },
  TIMEOUT_MS,
);
