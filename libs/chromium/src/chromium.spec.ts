import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findBrowsers } from './chromium.js';

let folder: string;
const inside = (...names: string[]): string => path.join(folder, ...names);

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'troupe-browsers-'));
  for (const name of ['chromium', 'chromium-headless-shell', 'mine']) {
    await writeFile(inside(name), '#!/bin/sh\n');
    await chmod(inside(name), 0o755);
  }
  await writeFile(inside('text'), '');
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the browsers of a machine', () => {
  it('are the whole Chromium and the headless shell, found on PATH or named', () => {
    const both = { whole: inside('chromium'), plain: inside('chromium-headless-shell') };
    expect(findBrowsers({}, folder)).toEqual(both);
    expect(findBrowsers({ chromiumPath: '', chromiumShellPath: '' }, folder)).toEqual(both);
    expect(findBrowsers({ chromiumPath: inside('mine') }, folder)).toEqual({ ...both, whole: inside('mine') });
    expect(findBrowsers({ chromiumShellPath: inside('mine') }, folder)).toEqual({ ...both, plain: inside('mine') });
  });

  it('are one program where there is only one', () => {
    const mine = inside('mine');
    expect(findBrowsers({ chromiumPath: mine }, '/nowhere')).toEqual({ whole: mine, plain: mine });
    expect(findBrowsers({ chromiumShellPath: mine }, '/nowhere')).toEqual({ whole: mine, plain: mine });
    expect(findBrowsers({ chromiumPath: mine, chromiumShellPath: inside('text') }, folder)).toEqual({
      whole: mine,
      plain: mine,
    });
  });

  it('are none where there is none, or where CHROMIUM_PATH names what cannot be run', () => {
    expect(findBrowsers({}, '/nowhere')).toBeNull();
    expect(findBrowsers({ chromiumPath: inside('text') }, folder)).toBeNull();
  });
});
