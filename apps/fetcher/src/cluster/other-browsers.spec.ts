import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { OtherBrowsers } from './other-browsers.js';

describe('other fetchers’ browsers', () => {
  let now: number;
  let isSeen: boolean;
  let browsers: OtherBrowsers;

  function watch(areOnDemand = false): void {
    browsers = new OtherBrowsers({ isSeen: () => isSeen, areOnDemand, now: () => now });
  }

  beforeEach(() => {
    now = 1_000_000;
    isSeen = false;
  });

  afterEach(() => browsers.stop());

  it('are neither there nor expected while none has been seen', () => {
    watch();
    expect([browsers.areThere(), browsers.areExpected()]).toEqual([false, false]);
  });

  it('are expected back for two minutes after the last one went away, but cannot be asked meanwhile', () => {
    watch();
    isSeen = true;
    browsers.look();
    isSeen = false;
    now += 119_000;
    expect([browsers.areThere(), browsers.areExpected()]).toEqual([false, true]);
    now += 2_000;
    expect(browsers.areExpected()).toBe(false);
  });

  it('are always expected where they are started on demand', () => {
    watch(true);
    expect([browsers.areThere(), browsers.areExpected()]).toEqual([false, true]);
  });
});
