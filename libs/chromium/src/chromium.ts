/** Where Chromium is and how it is started. */
import { accessSync, constants } from 'node:fs';
import path from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** Names of Debian, of Chrome for Testing, and those that others made of the name that Chromium's own build gives it. */
const SHELL_NAMES = ['chromium-headless-shell', 'chrome-headless-shell', 'headless-shell', 'headless_shell'];

export const NO_BROWSER =
  'this page needs a browser and none is installed here: set CHROMIUM_PATH, or install Chromium ' +
  '(Debian and Ubuntu: apt-get install chromium)';

/** Programs that show pages: one and the same where only one is installed. */
export interface Browsers {
  /** Chromium as people have it, for pages of sites that must take it for theirs. */
  whole: string;
  /** For all others: the headless shell, which has no windows to draw and needs about half the CPU. */
  plain: string;
}

/** Settings that name programs; unset or empty: found on PATH. */
export interface BrowserPaths {
  chromiumPath?: string;
  chromiumShellPath?: string;
}

/** null when nothing can be executed, or not what `chromiumPath` names. */
export function findBrowsers(
  { chromiumPath, chromiumShellPath }: BrowserPaths,
  searchPath: string = process.env.PATH ?? '',
): Browsers | null {
  const chromium = findProgram(chromiumPath, NAMES, searchPath);
  if (chromium === null && isSet(chromiumPath)) return null;
  const shell = findProgram(chromiumShellPath, SHELL_NAMES, searchPath);
  const whole = chromium ?? shell;
  return whole === null ? null : { whole, plain: shell ?? whole };
}

function findProgram(configured: string | undefined, names: string[], searchPath: string): string | null {
  if (isSet(configured)) return isExecutable(configured) ? configured : null;
  const folders = searchPath.split(path.delimiter).filter((folder) => folder !== '');
  const candidates = names.flatMap((name) => folders.map((folder) => path.join(folder, name)));
  return candidates.find(isExecutable) ?? null;
}

function isSet(configured: string | undefined): configured is string {
  return configured !== undefined && configured !== '';
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Features that Playwright turns off. Only the last list of a command line counts, so ours has to repeat them. */
const OFF_BY_PLAYWRIGHT = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'TcpPortRandomizationWin',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
  'msForceBrowserSignIn',
  'msEdgeUpdateLaunchServicesPreferredVersion',
];
/** Processes without use: a renderer ahead of the next site, and one in each window for lists below an address bar that is not shown. */
const OFF_TO_SPARE = ['SpareRendererForSitePerProcess', 'WebUIOmniboxPopup', 'WebUIOmniboxAimPopup'];

/**
 * Everything leaves through the proxy: loopback is not exempt, names are never resolved by the browser itself, QUIC
 * and plain UDP of WebRTC are off, and the browser's own services stay silent. A script that hoards memory loses its
 * tab, not the machine.
 */
export const CHROMIUM_ARGS = [
  '--proxy-bypass-list=<-loopback>',
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  '--disable-quic',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-sync',
  '--disable-crash-reporter',
  '--disable-gpu',
  // The whole Chromium takes this from the system. Only the shell knows the switch, and draws coarser letters without.
  '--font-render-hinting=slight',
  '--disable-blink-features=AutomationControlled',
  `--disable-features=${[...OFF_BY_PLAYWRIGHT, ...OFF_TO_SPARE].join(',')}`,
  '--no-first-run',
  '--no-pings',
  '--mute-audio',
  '--js-flags=--max-old-space-size=1024',
];
