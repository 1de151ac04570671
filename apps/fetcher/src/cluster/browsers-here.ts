/** The browser programs that this fetcher shows pages with. */
import { findBrowsers, findSandbox, NO_BROWSER, type Browsers, type Sandbox } from '@troupe/chromium';
import type { TroupeConfig } from '@troupe/config';
import type { Logger } from '@troupe/observability';

export interface BrowsersHere {
  /** null: none. */
  browsers: Browsers | null;
  /** null: this fetcher starts no browser. */
  sandbox: Sandbox | null;
  /** Reason why there are no browsers, where there are none. */
  absence: string;
}

type Settings = Pick<TroupeConfig, 'fetcherClasses' | 'chromiumPath' | 'chromiumShellPath' | 'browserSandbox'>;

/** @throws Error when the fetcher is only to show pages, and there is no browser */
export async function findBrowsersHere(config: Settings, log: Pick<Logger, 'warn' | 'error'>): Promise<BrowsersHere> {
  const none = { browsers: null, sandbox: null, absence: NO_BROWSER };
  if (!serves(config, 'browser')) return none;
  const browsers = findBrowsers(config);
  if (browsers === null && config.fetcherClasses.length > 0)
    throw new Error(
      'FETCHER_CLASSES names browser, and there is no browser: set CHROMIUM_PATH, install Chromium, or leave browser out',
    );
  if (browsers === null) return none;
  const sandbox = await findSandbox([browsers.whole, browsers.plain], config.browserSandbox);
  if (sandbox.isOn) return { browsers, sandbox, absence: '' };
  if (config.browserSandbox !== 'require') {
    log.warn(`${WITHOUT}: ${sandbox.why}`);
    return { browsers, sandbox, absence: '' };
  }
  const absence = `no browser is started without its sandbox (BROWSER_SANDBOX=require), and there is none: ${sandbox.why}`;
  log.error(absence);
  return { browsers: null, sandbox, absence };
}

export const WITHOUT = 'Chromium runs without its sandbox, so that a page that breaks out of it is this process’s user';

/** Without named classes a fetcher serves all that it can. */
export function serves({ fetcherClasses }: Pick<Settings, 'fetcherClasses'>, cls: 'http' | 'browser'): boolean {
  return fetcherClasses.length === 0 || fetcherClasses.includes(cls);
}
