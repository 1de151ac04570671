/** The inner loop: specs from their sources, threads and child processes included. */
import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { workspace } from './cluster.js';

const runUnit = (...args: string[]) =>
  promisify(execFile)('npm', ['run', '--silent', 'unit', '--', ...args], { cwd: workspace, timeout: 120_000 });

describe('npm run unit', () => {
  it('runs the specs that match from TypeScript, in threads and processes too', async () => {
    const { stderr } = await runUnit('libs/frontier/src/url-parts', 'libs/observability/src/traces', 'read-body');
    expect(stderr).toMatch(/PASS libs\/frontier\/src\/url-parts\.spec\.ts/);
    expect(stderr).toMatch(/PASS libs\/observability\/src\/traces\.spec\.ts/);
    expect(stderr).toMatch(/Test Suites: 3 passed, 3 total/);
  }, 130_000);

  it('says what it does', async () => {
    expect((await runUnit('--help')).stdout).toContain('without a build');
  }, 60_000);
});
