import { describe, expect, it } from '@jest/globals';
import { soak } from './browser-soak.fixture.js';
import { browsersHere } from '@troupe/testing';

const canRun = process.platform === 'linux' && browsersHere !== null;

(canRun ? describe : describe.skip)('a browser under bad pages and killed processes', () => {
  it('shows every good page, and leaves no process and no file behind', async () => {
    const result = await soak({
      pages: 50,
      lanes: 4,
      killRendererEvery: 17,
      killBrowserEvery: 25,
      bigBytes: 30_000_000,
    });
    expect(result.wrong).toEqual([]);
    expect(result.kills).toBeGreaterThanOrEqual(3);
    // A killed browser takes the tabs of all lanes, and on a slow machine the next kill may find some of them again.
    expect(result.hitTwice).toBeLessThanOrEqual(4);
    expect(Object.keys(result.answers)).toHaveLength(10);
    expect(result.answers).toMatchObject({
      big: { SCRAPE_BODY_TOO_LARGE: 1 },
      download: { SCRAPE_UNSUPPORTED_FILE_ERROR: 1 },
      hang: { SCRAPE_TIMEOUT: 1 },
    });
    expect(result.leftProcesses).toEqual([]);
    expect(result.leftFolders).toEqual([]);
    expect(result.leftFiles).toBeLessThanOrEqual(2);
  }, 240_000);
});
