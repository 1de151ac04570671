import { describe, expect, it } from '@jest/globals';
import { landingPage } from './landing-page.js';

const WORDS = { base: 'http://127.0.0.1:3002', needsKey: true, hasDocs: true };

describe('the landing page', () => {
  it('speaks of no key where none is needed', () => {
    const html = landingPage({ ...WORDS, needsKey: false });
    expect(html).not.toMatch(/api-key|Authorization/);
    expect(html).toContain('AUTH_MODE=none');
  });

  it('leads to no description where it is switched off', () => {
    expect(landingPage({ ...WORDS, hasDocs: false })).not.toContain('href=');
  });

  it('keeps an address that looks like HTML what it is', () => {
    const html = landingPage({ ...WORDS, base: 'http://a/"><script>' });
    expect(html).not.toContain('<script>');
    expect(html).toContain('http://a/&quot;&gt;&lt;script&gt;');
  });
});
