import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { CHROMIUM_ARGS } from './chromium.js';

let folder: string;
let commandLine: string[];

/** The command line of a browser: the program that is started here only writes it down. */
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'troupe-chromium-'));
  const [program, list] = [path.join(folder, 'browser.sh'), path.join(folder, 'arguments')];
  await writeFile(program, `#!/bin/sh\nprintf '%s\\n' "$@" > '${list}'\n`);
  await chmod(program, 0o700);
  const launching = chromium.launch({ executablePath: program, args: CHROMIUM_ARGS, timeout: 20_000 });
  await expect(launching).rejects.toThrow();
  commandLine = (await readFile(list, 'utf8')).trim().split('\n');
}, 60_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the command line of the browser', () => {
  it('turns off whatever Playwright turns off, though only the last list counts', () => {
    const lists = commandLine
      .filter((argument) => argument.startsWith('--disable-features='))
      .map((argument) => argument.split('=')[1]!.split(','));
    expect(lists).toHaveLength(2);
    const [theirs, ours] = lists as [string[], string[]];
    expect(theirs.filter((feature) => !ours.includes(feature))).toEqual([]);
  });

  it('has everything that keeps requests in the proxy', () => {
    expect(commandLine).toEqual(
      expect.arrayContaining([
        '--proxy-bypass-list=<-loopback>',
        '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
        '--disable-quic',
        '--webrtc-ip-handling-policy=disable_non_proxied_udp',
      ]),
    );
  });
});
