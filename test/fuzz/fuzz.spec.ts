/** A few hundred inputs of the fuzzer, in a process of its own as `npm run fuzz` has it. */
import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { workspace } from '../support/cluster.js';

const INPUTS = '300';
const TIMEOUT_MS = 120_000;

it(
  'damaged and hostile pages are converted in time, in bounds and to something valid',
  () => {
    const script = path.join(workspace, 'test/fuzz/fuzz.mjs');
    const { status, stderr } = spawnSync(process.execPath, [script, '--no-build', '--inputs', INPUTS], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  },
  TIMEOUT_MS,
);
