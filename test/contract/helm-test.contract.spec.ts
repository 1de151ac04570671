/** What `helm test` runs in the cluster, as the chart renders it, against a gateway that is up and one that is not. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { workspace } from '../support/cluster.js';
import { readManifests } from '../ops/manifests.js';
import { freePort } from '../support/free-port.js';
import { api, useGateway } from './api.js';

useGateway();

const rendered = readManifests(readFileSync(path.join(workspace, 'test/ops/golden/default.yaml'), 'utf8'));
const { spec } = rendered.find(({ kind }) => kind === 'Pod') as unknown as {
  spec: { containers: [{ command: string[] }] };
};

function runTest(url: string): Promise<number | null> {
  const [program = '', ...words] = spec.containers[0].command.map((word) => word.replace('http://troupe:80', url));
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { stdio: 'ignore' });
    child.once('error', reject);
    child.once('exit', resolve);
  });
}

describe('the test of the chart', () => {
  it('passes when the API answers and asks for keys', async () => {
    expect(await runTest(api().url)).toBe(0);
  });

  it('fails when nobody answers', async () => {
    expect(await runTest(`http://127.0.0.1:${await freePort()}`)).toBe(1);
  });
});
