import { findBrowsers } from '../browser/chromium.js';

/** What specs show pages in; null: nothing is installed here. */
export const browsersHere = findBrowsers({
  chromiumPath: process.env.CHROMIUM_PATH,
  chromiumShellPath: process.env.CHROMIUM_SHELL_PATH,
});
