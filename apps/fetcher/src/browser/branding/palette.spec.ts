import { describe, expect, it } from '@jest/globals';
import { contrast, luminance, over, parseColour, toHex, WHITE } from './colour.js';
import { buttonOf, evidenceOf } from './evidence.fixture.js';
import type { BrandEvidence } from './evidence.js';
import { hexColours, readPalette } from './palette.js';

const coloursOf = (changes: Partial<BrandEvidence>): Record<string, string> =>
  hexColours(readPalette(evidenceOf(changes)));
const schemeOf = (changes: Partial<BrandEvidence>): string => readPalette(evidenceOf(changes)).colorScheme;

const [BLUE, ORANGE, BLACK, WHITE_TEXT] = [
  'rgb(11, 95, 255)',
  'rgb(255, 122, 0)',
  'rgb(0, 0, 0)',
  'rgb(255, 255, 255)',
];

describe('a colour', () => {
  it.each([
    ['rgb(1, 2, 3)', '#010203'],
    ['rgba(255, 0, 16, 0.5)', '#FF0010'],
    ['rgb(1 2 3 / 0.5)', '#010203'],
    ['#abc', '#AABBCC'],
    ['#0b5fff', '#0B5FFF'],
  ])('is read from %s', (text, hex) => {
    expect(toHex(parseColour(text)!)).toBe(hex);
  });

  it.each(['', 'red', 'oklch(0.5 0.1 20)', '#abcd', 'rgb(1, 2)', 'var(--x)'])('is not read from "%s"', (text) => {
    expect(parseColour(text)).toBeNull();
  });

  it('that can be seen through is mixed with what is below', () => {
    expect(toHex(over({ r: 0, g: 0, b: 0, a: 0.5 }, WHITE))).toBe('#808080');
  });

  it('has the luminance and contrast of WCAG', () => {
    const black = parseColour('#000000')!;
    expect(contrast(black, WHITE)).toBeCloseTo(21);
    expect(luminance(parseColour('#808080')!)).toBeCloseTo(0.216, 3);
  });
});

describe('the ground', () => {
  it('is white where nothing is painted, and dark where the page asks for dark defaults', () => {
    expect(coloursOf({}).background).toBe('#FFFFFF');
    expect(schemeOf({})).toBe('light');
    expect(schemeOf({ defaults: 'dark' })).toBe('dark');
  });

  it('is what is painted innermost, seen through to what is below', () => {
    expect(coloursOf({ canvas: ['rgb(255, 255, 255)', '', 'rgba(0, 0, 0, 0.5)'] }).background).toBe('#808080');
    expect(schemeOf({ canvas: ['', 'rgb(11, 15, 25)'] })).toBe('dark');
  });
});

describe('the roles', () => {
  it('follow use: the filled button first, then other colours by area', () => {
    const colours = coloursOf({
      buttons: [buttonOf({ background: BLUE })],
      backgrounds: [[ORANGE, 90_000]],
      texts: [[BLACK, 500]],
    });
    expect(colours).toMatchObject({ primary: '#0B5FFF', secondary: '#FF7A00', textPrimary: '#000000' });
  });

  it('follow a name that is used rather than a larger area', () => {
    const colours = coloursOf({
      variables: [['brand-color', ORANGE]],
      buttons: [buttonOf({ background: BLUE })],
      borders: [[ORANGE, 1]],
    });
    expect(colours.primary).toBe('#FF7A00');
  });

  it.each([
    ['--color-primary', 'primary'],
    ['primary-500', 'primary'],
    ['primaryColor', 'primary'],
    ['brand', 'primary'],
    ['md-sys-color-secondary', 'secondary'],
    ['theme_accent', 'accent'],
    ['color-danger', 'error'],
    ['text-muted', 'textSecondary'],
  ])('know the custom property %s as %s', (name, role) => {
    expect(coloursOf({ variables: [[name.replace(/^--/, ''), 'rgb(20, 120, 90)']] })[role]).toBe('#14785A');
  });

  it('do not take variants of a name for the name', () => {
    const colours = coloursOf({
      variables: [
        ['primary-hover', ORANGE],
        ['on-primary', BLUE],
      ],
      texts: [[BLACK, 9]],
    });
    expect(colours.primary).toBe('#000000');
  });

  it('ignore what a library defines and the page does not use', () => {
    const variables: [string, string][] = [
      ['bs-success', 'rgb(25, 135, 84)'],
      ['bs-secondary', ORANGE],
    ];
    expect(coloursOf({ variables })).not.toHaveProperty('success');
    expect(coloursOf({ variables, borders: [[ORANGE, 1]] }).secondary).toBe('#FF7A00');
  });

  it('take the black button of a page without colours', () => {
    const colours = coloursOf({
      buttons: [buttonOf({ background: BLACK, color: WHITE_TEXT })],
      texts: [['rgb(60, 60, 60)', 100]],
    });
    expect(colours.primary).toBe('#000000');
  });

  it('do not take the browser’s own link colour for the brand', () => {
    const colours = coloursOf({ otherLinks: [['rgb(0, 0, 238)', 50]], texts: [[BLACK, 100]] });
    expect(colours).toMatchObject({ primary: '#000000', link: '#0000EE' });
    expect(colours).not.toHaveProperty('accent');
  });

  it('tell text from fainter text and leave out what cannot be read on the ground', () => {
    const texts: BrandEvidence['texts'] = [
      [WHITE_TEXT, 900],
      ['rgb(31, 41, 55)', 600],
      ['rgb(107, 114, 128)', 100],
    ];
    expect(coloursOf({ texts })).toMatchObject({ textPrimary: '#1F2937', textSecondary: '#6B7280' });
  });

  it('have links from running text before those of menus', () => {
    expect(coloursOf({ links: [[BLUE, 10]], otherLinks: [[ORANGE, 1000]] }).link).toBe('#0B5FFF');
  });

  it('have the colours of messages, which are no brand', () => {
    const colours = coloursOf({
      messages: [{ word: 'danger', color: BLACK, background: 'rgb(200, 20, 20)', border: '' }],
      backgrounds: [[ORANGE, 10]],
    });
    expect(colours).toMatchObject({ error: '#C81414', primary: '#FF7A00' });
  });
});
