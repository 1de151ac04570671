import { findBrowsers } from '@troupe/chromium';

/** Browsers that specs show pages in; null: none is installed here. */
export const browsersHere = findBrowsers({
  chromiumPath: process.env.CHROMIUM_PATH,
  chromiumShellPath: process.env.CHROMIUM_SHELL_PATH,
});
