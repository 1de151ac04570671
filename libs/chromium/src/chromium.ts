/** Where Chromium is and how it is started. */
import { accessSync, constants } from 'node:fs';
import path from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

export const NO_BROWSER =
  'this page needs a browser and none is installed here: set CHROMIUM_PATH, or install Chromium ' +
  '(Debian and Ubuntu: apt-get install chromium)';

/** `CHROMIUM_PATH`, else the system's browser on PATH; null when there is none that can be executed. */
export function findChromium(
  configured: string | undefined,
  searchPath: string = process.env.PATH ?? '',
): string | null {
  if (configured !== undefined && configured !== '') return isExecutable(configured) ? configured : null;
  const folders = searchPath.split(path.delimiter).filter((folder) => folder !== '');
  const candidates = NAMES.flatMap((name) => folders.map((folder) => path.join(folder, name)));
  return candidates.find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Nothing leaves but through the proxy: loopback is not exempt, names are never resolved by the browser itself, QUIC
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
  '--disable-blink-features=AutomationControlled',
  '--no-first-run',
  '--no-pings',
  '--mute-audio',
  '--js-flags=--max-old-space-size=1024',
];
