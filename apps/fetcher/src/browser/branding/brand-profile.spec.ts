import { describe, expect, it } from '@jest/globals';
import { brandProfile } from './brand-profile.js';
import { buttonOf, evidenceOf, logoOf, type SeenProfile } from './evidence.fixture.js';
import type { BrandEvidence, LogoEvidence, TextStyle } from './evidence.js';
import { chooseLogo } from './identity.js';
import { baseUnit } from './measures.js';
import { familiesOf } from './typography.js';

const profileOf = (changes: Partial<BrandEvidence>): SeenProfile =>
  brandProfile(evidenceOf(changes)) as unknown as SeenProfile;
const style = (changes: Partial<TextStyle>): TextStyle => ({
  color: 'rgb(0, 0, 0)',
  size: '16px',
  lineHeight: 0,
  weight: 400,
  stack: 'Inter, sans-serif',
  ...changes,
});

describe('a profile', () => {
  it('of an empty page has its ground and nothing that is empty or null', () => {
    expect(profileOf({})).toEqual({ colorScheme: 'light', colors: { background: '#FFFFFF' } });
  });
});

describe('fonts', () => {
  it('are split at commas outside of quotes, without what bundlers add', () => {
    expect(familiesOf(`"Foo, Bar", 'Baz', Inter , __Open_Sans_ab12cd, __Open_Sans_Fallback_ab12cd`)).toEqual([
      'Foo, Bar',
      'Baz',
      'Inter',
      'Open Sans',
      'Open Sans',
    ]);
  });

  it('are named by their typeface, with the share of the text and its main use', () => {
    const { fonts, typography } = profileOf({
      bodyStacks: [
        ['system-ui, Inter, sans-serif', 70],
        ['Georgia', 10],
      ],
      headingStacks: [['Georgia, serif', 15]],
      codeStacks: [['monospace', 5]],
    });
    expect(fonts).toEqual([
      { family: 'Inter', role: 'body', share: 0.7 },
      { family: 'Georgia', role: 'heading', share: 0.25 },
      { family: 'monospace', role: 'code', share: 0.05 },
    ]);
    expect(typography.fontFamilies).toEqual({ primary: 'Inter', heading: 'Georgia', code: 'monospace' });
  });

  it('have sizes, line heights and weights as far as they were seen', () => {
    const { typography } = profileOf({
      headings: { h2: style({ size: '32px', lineHeight: 1.25 }) },
      body: style({ size: '18px' }),
      sizes: [
        ['18px', 100],
        ['14px', 30],
        ['12px', 10],
      ],
      weights: [
        ['400', 90],
        ['700', 20],
        ['600', 5],
        ['300', 2],
      ],
    });
    expect(typography).toMatchObject({
      fontSizes: { h2: '32px', body: '18px', small: '14px' },
      lineHeights: { heading: 1.25 },
      fontWeights: { light: 300, regular: 400, bold: 700 },
    });
  });
});

describe('spacing', () => {
  it.each([
    ['8', { 8: 5, 16: 9, 24: 4, 32: 2, 3: 1 }],
    ['4', { 4: 5, 12: 9, 20: 4, 16: 2 }],
    ['10', { 10: 3, 20: 9, 30: 1, 5: 1 }],
    ['nothing', { 7: 3, 13: 2 }],
    ['nothing', {}],
    ['nothing', { 500: 9 }],
  ])('has the base unit %s of %o', (unit, spaces) => {
    expect(String(baseUnit([Object.entries(spaces)]) ?? 'nothing')).toBe(unit);
  });

  it('has the corners of controls, not of circles', () => {
    const spacing = profileOf({
      buttons: [buttonOf({ radius: '50%' }), buttonOf({ radius: '6px' }), buttonOf({ radius: '9999px' })],
      radii: [['0px', 6]],
    }).spacing;
    expect(spacing).toEqual({ padding: { button: 16 }, borderRadius: '6px' });
  });
});

describe('buttons', () => {
  const filled = buttonOf({ background: 'rgb(11, 95, 255)', color: 'rgb(255, 255, 255)' });
  const outline = buttonOf({ border: 'rgb(11, 95, 255)', color: 'rgb(11, 95, 255)' });

  it('are primary when filled, also where there are fewer of them', () => {
    const { components } = profileOf({ buttons: [outline, outline, outline, filled] });
    expect(components).toEqual({
      buttonPrimary: { background: '#0B5FFF', textColor: '#FFFFFF', borderRadius: '4px' },
      buttonSecondary: {
        background: 'transparent',
        textColor: '#0B5FFF',
        borderColor: '#0B5FFF',
        borderRadius: '4px',
      },
    });
  });

  it('are primary by their name among filled ones', () => {
    const dark = buttonOf({ background: 'rgb(10, 10, 10)', color: 'rgb(255, 255, 255)', named: 'primary' });
    const named = { ...filled, named: 'secondary' as const };
    expect(profileOf({ buttons: [named, dark] }).components.buttonPrimary?.background).toBe('#0A0A0A');
  });

  it('are secondary when that is all they are', () => {
    const { components } = profileOf({ buttons: [buttonOf({ named: 'secondary' })] });
    expect(Object.keys(components)).toEqual(['buttonSecondary']);
  });
});

describe('the logo', () => {
  const chosen = (...logos: LogoEvidence[]): string | undefined => chooseLogo(logos)?.src ?? undefined;

  it('is the picture that leads home from the header', () => {
    const home = logoOf('home', { isHomeLink: true, isInHeader: true });
    expect(chosen(logoOf('flag', { isInHeader: true }), home, logoOf('photo'))).toBe('home');
  });

  it('is none of the customers', () => {
    expect(chosen(logoOf('client', { namesLogo: 'itself', isOfOthers: true }), logoOf('photo'))).toBeUndefined();
  });

  it('is the one on top when the footer has it as well', () => {
    const foot = logoOf('foot', { isHomeLink: true, namesLogo: 'itself', isInFooter: true, top: 4000 });
    expect(chosen(foot, logoOf('head', { namesLogo: 'itself' }))).toBe('head');
  });

  it('may be a drawing, and is described by what leads there', () => {
    const drawn = logoOf('', { src: null, svg: '<svg/>', alt: 'Acme', href: 'http://acme.test/', isHomeLink: true });
    const { logo, images } = profileOf({ logos: [drawn] });
    expect(logo).toBe(`data:image/svg+xml;base64,${Buffer.from('<svg/>').toString('base64')}`);
    expect(images).toEqual({ logo, logoHref: 'http://acme.test/', logoAlt: 'Acme' });
  });

  it('is the one of the JSON-LD when the page shows none', () => {
    const jsonLd = ['not json', '{"@graph":[{"@type":["Organization"],"name":"Acme Ltd","logo":{"url":"/logo.png"}}]}'];
    expect(profileOf({ jsonLd })).toMatchObject({ brandName: 'Acme Ltd', logo: 'http://acme.test/logo.png' });
  });
});

describe('the name', () => {
  it.each([
    ['the site’s own', { metas: { 'og:site_name': 'Acme' }, title: 'Something | Else' }, 'Acme'],
    ['of the logo', { logos: [logoOf('l', { isHomeLink: true, alt: 'Acme logo' })] }, 'Acme'],
    ['the part of the title that the host is called after', { title: 'Fine things - Acme - Shop' }, 'Acme'],
    ['the short part of a start page', { url: 'http://x.test/', title: 'Bolt: shipping for all of us' }, 'Bolt'],
    ['the last part of an inner page', { url: 'http://x.test/docs', title: 'How to | Docs | Bolt Inc' }, 'Bolt Inc'],
  ])('is %s', (_what, changes, name) => {
    expect(profileOf(changes).brandName).toBe(name);
  });

  it('is left out when there is none', () => {
    expect(profileOf({ title: ' ' })).not.toHaveProperty('brandName');
  });
});

it('the favicon is the largest for browsers, before those for home screens', () => {
  const icons = [
    { rel: 'apple-touch-icon', href: 'http://acme.test/touch.png', px: 180 },
    { rel: 'icon', href: 'http://acme.test/16.png', px: 16 },
    { rel: 'shortcut icon', href: 'http://acme.test/32.png', px: 32 },
  ];
  expect(profileOf({ icons }).images.favicon).toBe('http://acme.test/32.png');
  expect(profileOf({ icons: icons.slice(0, 1) }).images.favicon).toBe('http://acme.test/touch.png');
});
