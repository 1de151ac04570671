/** A browser: CHROMIUM_PATH, else one on this machine, else Playwright's, else the distribution's package, else none. */
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { StartFailure } from '../failure.mjs';
import { say } from '../say.mjs';
import { installWithApt } from './apt.mjs';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
const MAC = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/** @param {string} file */
function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function onMachine() {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/bin', '/usr/local/bin'].filter(
    (dir) => dir !== '',
  );
  return [...folders.flatMap((dir) => NAMES.map((name) => path.join(dir, name))), ...MAC].find(isProgram);
}

/** What `npx playwright-core install chromium` left in Playwright's own cache. */
function ofPlaywright() {
  const mac = process.platform === 'darwin' ? 'Library/Caches' : '.cache';
  const cache = process.env.PLAYWRIGHT_BROWSERS_PATH || path.join(os.homedir(), mac, 'ms-playwright');
  if (!existsSync(cache)) return undefined;
  const builds = readdirSync(cache)
    .filter((name) => name.startsWith('chromium-'))
    .sort()
    .reverse();
  const places = ['chrome-linux/chrome', 'chrome-linux64/chrome', 'chrome-mac/Chromium.app/Contents/MacOS/Chromium'];
  return builds.flatMap((build) => places.map((place) => path.join(cache, build, place))).find(isProgram);
}

/** A browser that is there already. @returns {string | null} */
export function presentChromium() {
  return process.env.CHROMIUM_PATH || (onMachine() ?? ofPlaywright() ?? null);
}

/** @returns {Promise<string | null>} null: pages that need a browser will fail, with a code that says so */
export async function findChromium() {
  const told = process.env.CHROMIUM_PATH;
  if (told) {
    if (!isProgram(told)) throw new StartFailure(`CHROMIUM_PATH is ${told}, which is not a program that can be run.`);
    return told;
  }
  let found = onMachine() ?? ofPlaywright();
  if (found === undefined && (await installWithApt(['chromium'], 'Chromium'))) found = onMachine();
  if (found === undefined) {
    say(
      'no Chromium: pages are fetched over HTTP only, and pages that need a browser fail with SCRAPE_ALL_ENGINES_FAILED.',
    );
    say('  To mend it: install chromium or google-chrome, or set CHROMIUM_PATH.');
    return null;
  }
  say(`Chromium: ${found}`);
  return found;
}
