/** How a page is shown: window, device, place and languages of its reader. */
import type { BrowserContextOptions } from 'playwright-core';
import type { LocationSpec, Viewport } from '@troupe/contracts';
import type { BrowserTab } from './browser-tab.js';
import { countryOf, type Country } from './countries.js';
import type { EngineRequest, PageView } from '../http/engine.js';
import { callerHeaders } from '../http/request-headers.js';
import { brandsOf } from './user-agent.js';

const WINDOW: Viewport = { width: 1280, height: 800 };
/** docs/api/formats.md, "screenshot". */
const SCREENSHOT_WINDOW: Viewport = { width: 1920, height: 1080 };
const PHONE_WINDOW: Viewport = { width: 390, height: 844 };
const PHONE = { isMobile: true, hasTouch: true, deviceScaleFactor: 3 };
const PLAIN_LOCALE = 'en-US';
const POSITION_METERS = 50;
/** More languages than a header names with weights of one digit. */
const MAX_LANGUAGES = 9;

/** Everything about a page that its browser context must know from the start. */
export function contextOptionsOf(request: EngineRequest): BrowserContextOptions {
  const { view, skipTlsVerification } = request;
  return {
    acceptDownloads: false,
    ignoreHTTPSErrors: skipTlsVerification,
    serviceWorkers: 'block',
    viewport: windowOf(view),
    locale: PLAIN_LOCALE,
    ...(view.mobile ? PHONE : {}),
    ...(view.location === null ? {} : placeOptions(view.location, request.headers)),
  };
}

/** Time zone of the emulated location; null without one. */
export function timezoneOf({ location }: Pick<PageView, 'location'>): string | null {
  return location === null ? null : (countryOf(location.country)?.timezone ?? null);
}

/** Languages of a reader at this place in BCP 47, the preferred one first. */
export function languagesOf({ country, languages }: LocationSpec): string[] {
  const asked = languages.map(canonicalLanguage).filter((language) => language !== null);
  const wanted = asked.length > 0 ? asked : nativeLanguages(country, countryOf(country));
  return [...new Set(wanted.flatMap(withItsRoot))].slice(0, MAX_LANGUAGES);
}

/** `de-CH,de;q=0.9,en;q=0.8`, as Chromium itself spells a list of languages. */
export function acceptLanguage(languages: string[]): string {
  return languages.map((language, at) => (at === 0 ? language : `${language};q=0.${10 - at}`)).join(',');
}

/**
 * Sets, before the page navigates, what Playwright has no option for: a list of languages, and a device whose
 * properties agree with each other. It lasts as long as the tab.
 */
export async function presentReader(tab: BrowserTab, view: PageView): Promise<void> {
  const isPlain = !view.mobile && view.location === null;
  if (isPlain && (!tab.isHeadlessShell || tab.pages > 1)) return;
  const { page, session } = tab;
  const languages = view.location === null ? [PLAIN_LOCALE] : languagesOf(view.location);
  const brands = tab.isHeadlessShell ? brandsOf(page.context().browser()?.version() ?? '') : {};
  await session.send('Emulation.setUserAgentOverride', {
    userAgent: await page.evaluate<string>('navigator.userAgent'),
    acceptLanguage: languages.join(','),
    platform: view.mobile ? 'Linux armv81' : 'Linux x86_64',
    userAgentMetadata: { ...(view.mobile ? PHONE_HINTS : DESKTOP_HINTS), ...brands },
  });
}

/** Client hints; without brands they are the program's own. */
const DESKTOP_HINTS = {
  platform: 'Linux',
  platformVersion: '',
  architecture: 'x86',
  bitness: '64',
  model: '',
  mobile: false,
};
const PHONE_HINTS = {
  platform: 'Android',
  platformVersion: '14.0.0',
  architecture: '',
  model: 'Pixel 8',
  mobile: true,
};

function windowOf({ mobile, screenshot, actions }: PageView): Viewport {
  if (screenshot?.viewport) return screenshot.viewport;
  if (mobile) return PHONE_WINDOW;
  const isPictured = screenshot !== null || actions.some(({ type }) => type === 'screenshot');
  return isPictured ? SCREENSHOT_WINDOW : WINDOW;
}

/** The header reaches frames and workers that `presentReader` does not; one of the caller's own is left alone. */
function placeOptions(location: LocationSpec, headers: Record<string, string>): BrowserContextOptions {
  const languages = languagesOf(location);
  const country = countryOf(location.country);
  const isOwnHeader = 'accept-language' in callerHeaders(headers);
  return {
    locale: languages[0] ?? PLAIN_LOCALE,
    ...(isOwnHeader ? {} : { extraHTTPHeaders: { 'accept-language': acceptLanguage(languages) } }),
    ...(country === null ? {} : positionOf(country)),
  };
}

function positionOf({ timezone, latitude, longitude }: Country): BrowserContextOptions {
  const geolocation = { latitude, longitude, accuracy: POSITION_METERS };
  return { timezoneId: timezone, geolocation, permissions: ['geolocation'] };
}

function nativeLanguages(code: string, country: Country | null): string[] {
  return country === null ? [PLAIN_LOCALE] : [`${country.language}-${code}`, 'en'];
}

/** `de-CH` -> `de-CH`, `de`. */
function withItsRoot(language: string): string[] {
  const [root = language] = language.split('-');
  return [language, root];
}

/** null for a text that is no language. */
function canonicalLanguage(text: string): string | null {
  try {
    return Intl.getCanonicalLocales(text.trim().replace('_', '-'))[0] ?? null;
  } catch {
    return null;
  }
}
