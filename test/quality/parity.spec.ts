/** Real pages through our parser and through parse5, in a process of its own: inside the test runner it takes six times as long. */
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

const LEAST_TEXT = 0.993;
const LEAST_LINKS = 0.975;
const TIMEOUT_MS = 300_000;

interface Parity {
  pages: number;
  otherText: string[];
  otherLinks: string[];
}

(noKit === null ? it : it.skip)(
  'pages of the quality kit have the text and the links that browsers see',
  () => {
    const script = path.join(workspace, 'test/quality/parity.mjs');
    const output = execFileSync(process.execPath, [script, '--json'], { encoding: 'utf8' });
    const { pages, otherText, otherLinks } = JSON.parse(output) as Parity;
    expect({ otherText, share: 1 - otherText.length / pages }).toMatchObject({ share: atLeast(LEAST_TEXT) });
    expect({ otherLinks, share: 1 - otherLinks.length / pages }).toMatchObject({ share: atLeast(LEAST_LINKS) });
  },
  TIMEOUT_MS,
);

function atLeast(share: number): { asymmetricMatch(value: number): boolean; toString(): string } {
  return { asymmetricMatch: (value) => value >= share, toString: () => `at least ${share}` };
}
