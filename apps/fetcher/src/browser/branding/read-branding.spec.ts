import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { chromium as playwright, type Browser, type Page } from 'playwright-core';
import { browsersHere } from '../../engines/browsers.fixture.js';
import { startSite, type Site } from '../../engines/loopback.fixture.js';
import type { SeenProfile } from './evidence.fixture.js';
import { readBranding } from './read-branding.js';

const program = browsersHere?.plain ?? null;
const withBrowser = program === null ? describe.skip : describe;

let site: Site;
let browser: Browser;
let page: Page;
let html = '';

beforeAll(async () => {
  if (program === null) return;
  site = await startSite((request, response) => {
    const isPage = request.url === '/' || request.url === '/inner';
    response.writeHead(isPage ? 200 : 404, { 'content-type': 'text/html' }).end(isPage ? html : '');
  });
  const isRoot = process.getuid?.() === 0;
  browser = await playwright.launch({ executablePath: program, chromiumSandbox: !isRoot });
}, 60_000);

beforeEach(async () => {
  if (program !== null) page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
});

afterEach(async () => page?.close());

afterAll(async () => {
  await browser?.close();
  await site?.close();
});

const brandingOf = async (markup: string): Promise<SeenProfile> => {
  html = `<!doctype html>${markup}`;
  await page.goto(`${site.origin}/`);
  return (await readBranding(page)) as unknown as SeenProfile;
};

withBrowser('branding in the browser', () => {
  it('of an empty page is its white ground', async () => {
    const { colorScheme, colors } = await brandingOf('');
    expect({ colorScheme, background: colors.background }).toEqual({ colorScheme: 'light', background: '#FFFFFF' });
  });

  it('sees the dark defaults that a page asks for', async () => {
    const { colorScheme, colors } = await brandingOf('<style>:root { color-scheme: dark }</style><p>Text of the page.');
    expect({ colorScheme, text: colors.textPrimary }).toEqual({ colorScheme: 'dark', text: '#FFFFFF' });
  });

  it('takes a section as high as the window for no ground', async () => {
    const { colors } = await brandingOf(
      '<body style="margin: 0"><div style="height: 100vh; background: #0f766e"></div><p style="height: 3000px">Text</p>',
    );
    expect(colors).toMatchObject({ background: '#FFFFFF', primary: '#0F766E' });
  });

  it('reads colours in any notation, and gradients by their first colour', async () => {
    const { colors, components } = await brandingOf(
      `<style>:root { --accent: oklch(0.6 0.118 184.7) }</style>
      <body style="background: hsl(0 0% 96%)"><p style="color: color(srgb 0.2 0.2 0.2)">Words of a page that has some.</p>
      <button style="background-image: linear-gradient(red, blue); color: white">Go on</button>`,
    );
    expect(colors).toMatchObject({ background: '#F5F5F5', textPrimary: '#333333', primary: '#FF0000' });
    expect(colors.accent).toMatch(/^#00[89].[89]./);
    expect(components.buttonPrimary).toMatchObject({ background: '#FF0000', textColor: '#FFFFFF' });
  });

  it('sees a field as if it had the focus, without giving it the focus', async () => {
    const { components } = await brandingOf(
      `<style>input { border: 1px solid #aaaaaa; transition: border-color 5s } input:focus { border-color: #00aa00; outline: none }</style>
      <input id=field><script>field.onfocus = () => document.title = 'touched'</script>`,
    );
    expect(components.input).toEqual({ borderColor: '#AAAAAA', focusBorderColor: '#00AA00', borderRadius: '0px' });
    expect(await page.title()).not.toBe('touched');
    expect(await page.evaluate<boolean>('document.activeElement === document.body')).toBe(true);
  });

  it('looks into open shadow roots and leaves frames alone', async () => {
    const { fonts } = await brandingOf(
      `<x-text></x-text><iframe srcdoc="<p style='font-family: Framed'>${'framed '.repeat(50)}"></iframe><script>
      document.querySelector('x-text').attachShadow({ mode: 'open' }).innerHTML = '<p style="font-family: Hidden">Text inside</p>'</script>`,
    );
    expect(fonts).toEqual([{ family: 'Hidden', role: 'body', share: 1 }]);
  });

  it('puts a drawing together with the symbol that it uses, without its scripts', async () => {
    const { logo } = await brandingOf(
      `<svg width=0 height=0><symbol id=mark viewBox="0 0 9 9"><path d="M1 1h7v7z" onclick="x()"/></symbol></svg>
      <header><a href="/" aria-label="Acme"><svg width=90 height=30><script>1</script><use href="#mark"/></svg></a></header>`,
    );
    const drawing = Buffer.from(String(logo).replace('data:image/svg+xml;base64,', ''), 'base64').toString();
    expect(drawing).toMatch(/^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    expect(drawing).toContain('<symbol id="mark"');
    expect(drawing).not.toMatch(/script|onclick/);
  });

  it('is not fooled or stopped by a page that breaks what scripts build on', async () => {
    const { colors } = await brandingOf(
      `<p style="color: #123456">Words of the page.</p><script>
      window.getComputedStyle = () => { throw new Error('no') }; Array.prototype.sort = Map.prototype.get = JSON.stringify = null;
      Element.prototype.getBoundingClientRect = () => ({ width: 0, height: 0 })</script>`,
    );
    expect(colors.textPrimary).toBe('#123456');
  });

  it('leaves the page as it was', async () => {
    await brandingOf('<style>.a{color:red}</style><div class=a>Text</div><input><button>Press</button>');
    const after = await page.evaluate<string>('document.documentElement.outerHTML');
    await page.goto(`${site.origin}/inner`);
    expect(after).toBe(await page.evaluate<string>('document.documentElement.outerHTML'));
  });

  it('of a page with 200,000 elements takes a moment and is small', async () => {
    html = `<!doctype html><style>b { color: #334455 }</style><body>${'<div><b>word</b></div>'.repeat(100_000)}`;
    await page.goto(`${site.origin}/`, { timeout: 60_000 });
    await page.evaluate('document.body.offsetHeight');
    const before = performance.now();
    const { colors } = await readBranding(page);
    const ms = performance.now() - before;
    expect(colors).toMatchObject({ textPrimary: '#334455' });
    expect(ms).toBeLessThan(25_000);
    process.stdout.write(`branding of 200,000 elements: ${Math.round(ms)} ms\n`);
  }, 90_000);
});
