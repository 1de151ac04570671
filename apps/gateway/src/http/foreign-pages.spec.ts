import { describe, expect, it } from '@jest/globals';
import { foreignPage, type PageRules } from './foreign-pages.js';

const OPEN: PageRules = { authMode: 'none', host: '127.0.0.1' };
const asked = (headers: { host?: string; origin?: string }, rules: Partial<PageRules> = {}) =>
  foreignPage({ headers }, { ...OPEN, ...rules });

describe('a gateway without keys', () => {
  it.each([
    '127.0.0.1:3002',
    'localhost:3002',
    'localhost',
    'LOCALHOST.:1',
    '[::1]:3002',
    'a.localhost',
    'gateway:3002',
  ])('answers to its name %s', (host) => expect(asked({ host })).toBeNull());

  it.each([
    'evil.example',
    'evil.example:3002',
    '127.0.0.1.nip.example',
    'localhost.evil.example',
    'a b',
    '',
    'x@y.example',
  ])('does not answer to the name %j, which a foreign site may have pointed here', (host) =>
    expect(asked({ host })).toContain(JSON.stringify(host)),
  );

  it('answers to the names that it was given', () => {
    expect(asked({ host: 'troupe.example' }, { publicBaseUrl: 'https://troupe.example/' })).toBeNull();
    expect(asked({ host: 'troupe.example:80' }, { host: 'troupe.example' })).toBeNull();
    expect(asked({})).toBeNull();
  });

  it.each([
    'https://evil.example',
    'null',
    'http://localhost:5173',
    'http://127.0.0.1',
    'chrome-extension://abc',
    'x',
    '',
  ])('answers no page of %j', (origin) =>
    expect(asked({ host: '127.0.0.1:3002', origin })).toContain(JSON.stringify(origin)),
  );

  it('answers its own pages, behind a proxy with TLS too', () => {
    expect(asked({ host: '127.0.0.1:3002', origin: 'http://127.0.0.1:3002' })).toBeNull();
    expect(asked({ host: 'localhost', origin: 'https://localhost' })).toBeNull();
    const publicBaseUrl = 'https://troupe.example';
    expect(asked({ host: '127.0.0.1:3002', origin: publicBaseUrl }, { publicBaseUrl })).toBeNull();
  });
});

it('a gateway with keys answers pages of any origin, by any name', () => {
  expect(asked({ host: 'evil.example', origin: 'https://evil.example' }, { authMode: 'keys' })).toBeNull();
});
