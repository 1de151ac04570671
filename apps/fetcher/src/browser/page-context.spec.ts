import { describe, expect, it } from '@jest/globals';
import { countryCodes, countryOf } from './countries.js';
import { PLAIN_VIEW, type EngineRequest } from '../http/engine.js';
import { acceptLanguage, contextOptionsOf, languagesOf, timezoneOf } from './page-context.js';
import { brandsOf, browserUserAgent } from './user-agent.js';
import { engineRequest } from '../http/engine-request.fixture.js';

const request = (view: Partial<EngineRequest['view']>, headers: Record<string, string> = {}): EngineRequest =>
  engineRequest('https://site.example/', {
    headers,
    timeoutMs: 1000,
    maxBytes: 1000,
    view: { ...PLAIN_VIEW, ...view },
  });
const screenshot = { fullPage: false, quality: null, viewport: null };

describe('the table of countries', () => {
  it('has all 249, each with a zone that exists, a place on earth and a language', () => {
    expect(countryCodes()).toHaveLength(249);
    for (const code of countryCodes()) {
      const country = countryOf(code);
      expect(() => new Intl.DateTimeFormat('en', { timeZone: country?.timezone })).not.toThrow();
      expect(Math.abs(country?.latitude ?? NaN)).toBeLessThanOrEqual(90);
      expect(Math.abs(country?.longitude ?? NaN)).toBeLessThanOrEqual(180);
      expect(Intl.getCanonicalLocales(country?.language)).toHaveLength(1);
    }
  });

  it.each(['ZZ', 'toString', '', 'de'])('knows nothing of %j', (code) => expect(countryOf(code)).toBeNull());
});

describe('languages of a location', () => {
  it.each([
    ['DE', [], ['de-DE', 'de', 'en']],
    ['GB', [], ['en-GB', 'en']],
    ['TW', [], ['zh-TW', 'zh', 'en']],
    ['DE', ['pt_BR', 'en'], ['pt-BR', 'pt', 'en']],
    ['DE', ['no language at all!'], ['de-DE', 'de', 'en']],
    ['ZZ', [], ['en-US', 'en']],
  ])('%s with %j are %j', (country, languages, expected) => {
    expect(languagesOf({ country, languages })).toEqual(expected);
  });

  it('are at most nine, so that weights have one digit', () => {
    const languages = ['de', 'fr', 'it', 'es', 'pt', 'nl', 'sv', 'da', 'fi', 'pl', 'cs'];
    const header = acceptLanguage(languagesOf({ country: 'CH', languages }));
    expect(header).toBe('de,fr;q=0.9,it;q=0.8,es;q=0.7,pt;q=0.6,nl;q=0.5,sv;q=0.4,da;q=0.3,fi;q=0.2');
  });
});

describe('the context of a page', () => {
  it('is a plain window in no place without wishes', () => {
    const options = contextOptionsOf(request({}));
    expect(options).toMatchObject({ viewport: { width: 1280, height: 800 }, locale: 'en-US', acceptDownloads: false });
    for (const key of ['timezoneId', 'geolocation', 'permissions', 'extraHTTPHeaders', 'isMobile'])
      expect(options).not.toHaveProperty(key);
  });

  it('has the window of its screenshot', () => {
    const size = (view: Partial<EngineRequest['view']>) => contextOptionsOf(request(view)).viewport;
    expect(size({ screenshot })).toEqual({ width: 1920, height: 1080 });
    expect(size({ actions: [{ type: 'screenshot', ...screenshot }] })).toEqual({ width: 1920, height: 1080 });
    expect(size({ screenshot, mobile: true })).toEqual({ width: 390, height: 844 });
    expect(size({ screenshot: { ...screenshot, viewport: { width: 500, height: 400 } }, mobile: true })).toEqual({
      width: 500,
      height: 400,
    });
  });

  it('leaves a language header of the caller alone', () => {
    const location = { country: 'FR', languages: [] };
    expect(contextOptionsOf(request({ location })).extraHTTPHeaders).toEqual({
      'accept-language': 'fr-FR,fr;q=0.9,en;q=0.8',
    });
    expect(contextOptionsOf(request({ location }, { 'Accept-Language': 'br' }))).not.toHaveProperty('extraHTTPHeaders');
  });

  it('of an unknown country has no zone', () => {
    expect(timezoneOf({ location: { country: 'ZZ', languages: [] } })).toBeNull();
    expect(contextOptionsOf(request({ location: { country: 'ZZ', languages: [] } }))).not.toHaveProperty('timezoneId');
  });
});

it('a phone says so in its user agent, and both say who we are', () => {
  expect(browserUserAgent('156.0.1.2', true, 'Troupe/0.1')).toMatch(
    /Android.*Chrome\/156\.0\.0\.0 Mobile.*Troupe\/0\.1$/,
  );
  expect(browserUserAgent('156.0.1.2', false, 'Troupe/0.1')).toMatch(/X11; Linux.*Chrome\/156\.0\.0\.0 Safari.*Troupe/);
});

describe('brands', () => {
  it('are those of Chromium of that version, in its order', () => {
    expect(brandsOf('156.0.8078.79')).toEqual({
      brands: [
        { brand: 'Not:A-Brand', version: '8' },
        { brand: 'Chromium', version: '156' },
      ],
      fullVersionList: [
        { brand: 'Not:A-Brand', version: '8.0.0.0' },
        { brand: 'Chromium', version: '156.0.8078.79' },
      ],
      fullVersion: '156.0.8078.79',
    });
    expect(brandsOf('131.0.6778.85').brands).toEqual([
      { brand: 'Chromium', version: '131' },
      { brand: 'Not_A Brand', version: '24' },
    ]);
  });
});
