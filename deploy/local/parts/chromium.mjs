/**
 * Browsers: what CHROMIUM_PATH and CHROMIUM_SHELL_PATH name, else what is on this machine, else Playwright's, else the
 * distribution's packages, else none. The headless shell shows pages that do not ask for stealth.
 */
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { StartFailure } from '../failure.mjs';
import { homeDir } from '../places.mjs';
import { say } from '../say.mjs';
import { installWithApt, knowsPackage } from './apt.mjs';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
const SHELL_NAMES = ['chromium-headless-shell', 'chrome-headless-shell', 'headless-shell', 'headless_shell'];
/** Debian's; Ubuntu has none. */
const SHELL_PACKAGE = 'chromium-headless-shell';
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

/** @param {string[]} names */
function onPath(names) {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/bin', '/usr/local/bin'].filter(
    (dir) => dir !== '',
  );
  return folders.flatMap((dir) => names.map((name) => path.join(dir, name))).find(isProgram);
}

const onMachine = () => onPath(NAMES) ?? MAC.find(isProgram);

/** Programs that `npx playwright-core install chromium` left in Playwright's own cache. @param {string} kind @param {string[]} places */
function ofPlaywright(kind, places) {
  const mac = process.platform === 'darwin' ? 'Library/Caches' : '.cache';
  const cache = process.env.PLAYWRIGHT_BROWSERS_PATH || path.join(homeDir(), mac, 'ms-playwright');
  if (!existsSync(cache)) return undefined;
  const builds = readdirSync(cache)
    .filter((name) => name.startsWith(`${kind}-`))
    .sort()
    .reverse();
  return builds.flatMap((build) => places.map((place) => path.join(cache, build, place))).find(isProgram);
}

const wholeOfPlaywright = () =>
  ofPlaywright('chromium', [
    'chrome-linux/chrome',
    'chrome-linux64/chrome',
    'chrome-mac/Chromium.app/Contents/MacOS/Chromium',
  ]);

const shellOfPlaywright = () =>
  ofPlaywright('chromium_headless_shell', [
    'chrome-linux/headless_shell',
    'chrome-headless-shell-linux64/chrome-headless-shell',
    'chrome-mac/headless_shell',
    'chrome-headless-shell-mac-arm64/chrome-headless-shell',
    'chrome-headless-shell-mac-x64/chrome-headless-shell',
  ]);

/** @typedef {{ CHROMIUM_PATH?: string, CHROMIUM_SHELL_PATH?: string }} BrowserSettings */

/** Browsers that are there already, as the services are told of them. @returns {BrowserSettings} */
export function presentBrowsers() {
  const whole = process.env.CHROMIUM_PATH || (onMachine() ?? wholeOfPlaywright());
  const shell = process.env.CHROMIUM_SHELL_PATH || (onPath(SHELL_NAMES) ?? shellOfPlaywright());
  return {
    ...(whole === undefined ? {} : { CHROMIUM_PATH: whole }),
    ...(shell === undefined ? {} : { CHROMIUM_SHELL_PATH: shell }),
  };
}

/** @returns {Promise<BrowserSettings>} empty: pages that need a browser will fail, with a code that says so */
export async function findBrowsers() {
  for (const name of ['CHROMIUM_PATH', 'CHROMIUM_SHELL_PATH']) {
    const told = process.env[name];
    if (told && !isProgram(told)) throw new StartFailure(`${name} is ${told}, which is not a program that can be run.`);
  }
  await installMissing(presentBrowsers());
  const found = presentBrowsers();
  const { CHROMIUM_PATH: whole, CHROMIUM_SHELL_PATH: shell } = found;
  if (whole === undefined && shell === undefined) {
    say(
      'no Chromium: pages are fetched over HTTP only, and pages that need a browser fail with SCRAPE_ALL_ENGINES_FAILED.',
    );
    say('  To mend it: install chromium or google-chrome, or set CHROMIUM_PATH.');
    return found;
  }
  say(`Chromium: ${[whole, shell].filter((program) => program !== undefined).join(', ')}`);
  return found;
}

/** Nothing is added to a browser that the user has chosen. @param {BrowserSettings} present */
async function installMissing({ CHROMIUM_PATH: whole, CHROMIUM_SHELL_PATH: shell }) {
  if (process.env.CHROMIUM_PATH) return;
  if (whole === undefined && shell === undefined && !(await installWithApt(['chromium'], 'Chromium'))) return;
  const isWanted = presentBrowsers().CHROMIUM_SHELL_PATH === undefined;
  if (isWanted && knowsPackage(SHELL_PACKAGE))
    await installWithApt([SHELL_PACKAGE], 'the headless shell', { listsAreNew: true });
}
