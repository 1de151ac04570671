import { describe, expect, it } from '@jest/globals';
import { readInstallation } from '../installation.js';
import { checkChromium } from './chromium.js';

const look = (environment: Record<string, string>) =>
  checkChromium(readInstallation(environment, { isEmbedded: true }).installation).then((findings) =>
    findings.map(({ severity, found }) => `${severity} ${found}`),
  );

describe('the browsers', () => {
  it('are both tried, and a shell that cannot be run is told beside the whole one', async () => {
    const [whole, shell, ...others] = await look({
      CHROMIUM_PATH: '/bin/false',
      CHROMIUM_SHELL_PATH: '/nowhere/shell',
    });
    expect(whole).toMatch(/^failure \/bin\/false does not start/);
    expect(shell).toBe('failure CHROMIUM_SHELL_PATH is /nowhere/shell, which cannot be run');
    expect(others).toEqual([]);
    const [first, second] = await look({ CHROMIUM_PATH: '/bin/false', CHROMIUM_SHELL_PATH: '/bin/true' });
    expect([first, second]).toEqual([
      expect.stringMatching(/\/bin\/false does not start/),
      expect.stringMatching(/\/bin\/true does not start/),
    ]);
  }, 60_000);
});
