/** Colours by role: the painted colours, how much of each there is, and the names that the page gives its colours. */
import {
  contrast,
  DEFAULT_DARK,
  distance,
  isColourful,
  isDistinct,
  luminance,
  over,
  parseColour,
  toHex,
  WHITE,
  type Colour,
} from './colour.js';
import type { BrandEvidence, Tally } from './evidence.js';

export type ColourRole =
  | 'primary'
  | 'secondary'
  | 'accent'
  | 'background'
  | 'textPrimary'
  | 'textSecondary'
  | 'link'
  | 'success'
  | 'warning'
  | 'error';

export interface Palette {
  colorScheme: 'light' | 'dark';
  ground: Colour;
  colours: Partial<Record<ColourRole, Colour>> & { background: Colour };
}

export function readPalette(evidence: BrandEvidence): Palette {
  const ground = readGround(evidence);
  const named = readNamed(evidence, ground);
  const text = readTexts(evidence, ground);
  const brand = readBrand(evidence, ground, named);
  const link = readLink(evidence, ground) ?? named.link;
  const primary = brand[0] ?? named.primary ?? plainButton(evidence, ground) ?? text.primary ?? link;
  const others = brand.slice(1).filter((colour) => primary === undefined || isDistinct(colour, primary));
  const secondary = named.secondary ?? others.shift() ?? panel(evidence, ground, primary);
  const taken = [primary, secondary].filter((colour) => colour !== undefined);
  const accent = named.accent ?? [...others, link].find((colour) => isNew(colour, taken));
  const colours = {
    primary,
    secondary,
    accent,
    background: ground,
    textPrimary: text.primary,
    textSecondary: text.secondary ?? named.textSecondary,
    link,
    success: named.success ?? messageColour(evidence, ['success'], ground),
    warning: named.warning ?? messageColour(evidence, ['warning'], ground),
    error: named.error ?? messageColour(evidence, ['error', 'danger'], ground),
  };
  return { colorScheme: isDark(ground) ? 'dark' : 'light', ground, colours };
}

/** Roles as hex, absent ones left out. */
export function hexColours({ colours }: Palette): Record<string, string> {
  const known = Object.entries(colours).filter((entry): entry is [string, Colour] => entry[1] !== undefined);
  return Object.fromEntries(known.map(([role, colour]) => [role, toHex(colour)]));
}

/** White text is read more easily on it than black text. */
function isDark(ground: Colour): boolean {
  return luminance(ground) < 0.179;
}

function readGround({ canvas, defaults }: BrandEvidence): Colour {
  const fills = canvas.map(parseColour).filter((fill) => fill !== null);
  return fills.reduce((ground, fill) => over(fill, ground), defaults === 'dark' ? DEFAULT_DARK : WHITE);
}

function isNew(colour: Colour | undefined, taken: readonly Colour[]): boolean {
  return (
    colour !== undefined &&
    isColourful(colour) &&
    isStyled({ colour }) &&
    taken.every((other) => isDistinct(colour, other))
  );
}

// ---- weighing

interface Weighed {
  colour: Colour;
  weight: number;
}

/** Shades this near count as one, under the heaviest of them. */
const SAME_SHADE = 24;

function onGround(tally: Tally, ground: Colour): Weighed[] {
  return tally.flatMap(([value, weight]) => {
    const colour = parseColour(value);
    return colour === null ? [] : [{ colour: over(colour, ground), weight }];
  });
}

function gather(parts: readonly Weighed[]): Weighed[] {
  const shades: Weighed[] = [];
  for (const { colour, weight } of [...parts].sort((a, b) => b.weight - a.weight)) {
    const same = shades.find((shade) => distance(shade.colour, colour) < SAME_SHADE);
    if (same === undefined) shades.push({ colour, weight });
    else same.weight += weight;
  }
  return shades.sort((a, b) => b.weight - a.weight);
}

/** The weights of a tally as shares of `most`. */
function scaled(parts: readonly Weighed[], most: number): Weighed[] {
  const total = parts.reduce((sum, { weight }) => sum + weight, 0);
  return parts.map(({ colour, weight }) => ({ colour, weight: (weight / total) * most }));
}

// ---- text

const MIN_TEXT_CONTRAST = 3;
const MIN_FAINT_CONTRAST = 1.8;
const MIN_SHARE = 0.02;

function readTexts(evidence: BrandEvidence, ground: Colour): { primary?: Colour; secondary?: Colour } {
  const shades = gather(onGround(evidence.texts, ground)).filter(
    ({ colour }) => contrast(colour, ground) >= MIN_FAINT_CONTRAST,
  );
  const total = shades.reduce((sum, { weight }) => sum + weight, 0);
  const readable = shades.find(({ colour }) => contrast(colour, ground) >= MIN_TEXT_CONTRAST)?.colour;
  const primary = readable ?? ofHeadings(evidence, ground) ?? ofBody(evidence, ground);
  if (primary === undefined) return {};
  const secondary = shades.find(
    ({ colour, weight }) =>
      distance(colour, primary) >= SAME_SHADE && weight >= total * MIN_SHARE && !isColourful(colour),
  )?.colour;
  return { primary, ...(secondary === undefined ? {} : { secondary }) };
}

function ofHeadings({ headings }: BrandEvidence, ground: Colour): Colour | undefined {
  const style = headings.h1 ?? headings.h2 ?? headings.h3;
  return style === undefined ? undefined : seen(style.color, ground);
}

function ofBody({ body }: BrandEvidence, ground: Colour): Colour | undefined {
  return body === null ? undefined : seen(body.color, ground);
}

function seen(text: string, ground: Colour): Colour | undefined {
  const colour = parseColour(text);
  return colour === null ? undefined : over(colour, ground);
}

/** Colours that browsers give links without a style, on light and on dark. */
const UNSTYLED_LINKS = ['#0000ee', '#551a8b', '#9e9eff', '#d0adf0'].map((hex) => toHex(parseColour(hex) ?? WHITE));

function isStyled({ colour }: { colour: Colour }): boolean {
  return !UNSTYLED_LINKS.includes(toHex(colour));
}

/** A page without a link that has a style shows the browser's own. */
function readLink({ links, otherLinks }: BrandEvidence, ground: Colour): Colour | undefined {
  const all = { running: gather(onGround(links, ground)), others: gather(onGround(otherLinks, ground)) };
  const running = all.running.filter(isStyled);
  const others = all.others.filter(isStyled);
  if (running.length + others.length === 0) return (all.running[0] ?? all.others[0])?.colour;
  return (running[0] ?? others.find(({ colour }) => isColourful(colour)) ?? others[0])?.colour;
}

// ---- the brand's own colours

/** The most points that each kind of use gives. */
const POINTS = { buttons: 40, backgrounds: 25, links: 20, otherLinks: 8, headings: 8, texts: 6, borders: 4 };
const NAMED_PRIMARY_POINTS = 60;
const THEME_POINTS = 10;
const MIN_BRAND_POINTS = 2;

/** Colourful shades, the most telling one first. */
function readBrand(evidence: BrandEvidence, ground: Colour, named: Named): Colour[] {
  const colourful = (tally: Tally, most: number): Weighed[] => {
    const parts = onGround(tally, ground).filter(
      (part) => distance(part.colour, ground) >= SAME_SHADE && isStyled(part),
    );
    return scaled(parts, most).filter(({ colour }) => isColourful(colour));
  };
  const headings = Object.values(evidence.headings).map(({ color }): [string, number] => [color, 1]);
  const theme = evidence.metas['theme-color'];
  const parts = [
    ...colourful(
      evidence.buttons.map(({ background, area, named: name }) => [background, name === 'primary' ? area * 3 : area]),
      POINTS.buttons,
    ),
    ...colourful(evidence.backgrounds, POINTS.backgrounds),
    ...colourful(evidence.links, POINTS.links),
    ...colourful(evidence.otherLinks, POINTS.otherLinks),
    ...colourful(headings, POINTS.headings),
    ...colourful(evidence.texts, POINTS.texts),
    ...colourful(evidence.borders, POINTS.borders),
    ...(theme === undefined ? [] : colourful([[theme.toLowerCase(), 1]], THEME_POINTS)),
  ].filter(({ colour }) => !isMessageColour(colour, named));
  const { primary } = named;
  const isUsed = primary !== undefined && parts.some(({ colour }) => distance(colour, primary) < SAME_SHADE);
  if (isUsed && isColourful(primary)) parts.push({ colour: primary, weight: NAMED_PRIMARY_POINTS });
  return gather(parts)
    .filter(({ weight }) => weight >= MIN_BRAND_POINTS)
    .map(({ colour }) => colour);
}

/** The colours of success, warning and error are no brand, unless the brand has the same. */
function isMessageColour(colour: Colour, { success, warning, error, primary }: Named): boolean {
  if (primary !== undefined && distance(colour, primary) < SAME_SHADE) return false;
  return [success, warning, error].some((other) => other !== undefined && distance(colour, other) < SAME_SHADE);
}

/** Colour of the button of a page in black and white. */
function plainButton({ buttons }: BrandEvidence, ground: Colour): Colour | undefined {
  const fills = onGround(
    buttons.map(({ background, area }) => [background, area]),
    ground,
  );
  return gather(fills).find(({ colour }) => contrast(colour, ground) >= MIN_TEXT_CONTRAST)?.colour;
}

/** The largest area that stands out from the ground. */
function panel({ backgrounds }: BrandEvidence, ground: Colour, primary: Colour | undefined): Colour | undefined {
  return gather(onGround(backgrounds, ground)).find(
    ({ colour }) => isDistinct(colour, ground) && (primary === undefined || isDistinct(colour, primary)),
  )?.colour;
}

function messageColour({ messages }: BrandEvidence, words: readonly string[], ground: Colour): Colour | undefined {
  const shades = messages
    .filter(({ word }) => words.includes(word))
    .flatMap(({ border, color, background }) => [border, color, background])
    .map((text) => seen(text, ground))
    .filter((colour) => colour !== undefined);
  return shades.find(isColourful);
}

// ---- colours by the names of custom properties

type NamedRole = Exclude<ColourRole, 'background' | 'textPrimary'>;
type Named = Partial<Record<NamedRole, Colour>>;

const NOISE = new Set(
  'color colors colour clr col c theme md sys ui global base default main hex rgb site app ds token tokens palette semantic 500 600'.split(
    ' ',
  ),
);
/** Libraries define them whether a page uses them or not. */
const LIBRARY = /^(?:bs|wp|tw|mdc|mdl|mui|ion|chakra|ant|el|fa|swiper|framework)[-_]/i;
const ROLE_NAMES: Record<string, NamedRole> = {
  primary: 'primary',
  brand: 'primary',
  'brand-primary': 'primary',
  'primary-brand': 'primary',
  secondary: 'secondary',
  'brand-secondary': 'secondary',
  accent: 'accent',
  'brand-accent': 'accent',
  tertiary: 'accent',
  highlight: 'accent',
  'text-secondary': 'textSecondary',
  'text-muted': 'textSecondary',
  muted: 'textSecondary',
  'muted-foreground': 'textSecondary',
  link: 'link',
  links: 'link',
  success: 'success',
  positive: 'success',
  warning: 'warning',
  warn: 'warning',
  caution: 'warning',
  error: 'error',
  danger: 'error',
  destructive: 'error',
  critical: 'error',
};

function roleOf(variable: string): NamedRole | undefined {
  const words = variable
    .replace(/^(?:bs|wp|tw|mdc|mdl|mui|ion|chakra|ant|el)[-_]+(?:preset[-_]+)?/i, '')
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[-_]+/);
  return ROLE_NAMES[words.filter((word) => !NOISE.has(word)).join('-')];
}

function readNamed(evidence: BrandEvidence, ground: Colour): Named {
  const named: Named = {};
  const used = usedColours(evidence, ground);
  for (const [name, value] of evidence.variables) {
    const role = roleOf(name);
    const colour = role === undefined ? undefined : seen(value, ground);
    if (role === undefined || colour === undefined || named[role] !== undefined) continue;
    const isUsed = used.some((other) => distance(other, colour) < SAME_SHADE);
    if (isUsed || !LIBRARY.test(name)) named[role] = colour;
  }
  return named;
}

function usedColours(evidence: BrandEvidence, ground: Colour): Colour[] {
  const tallies = [evidence.backgrounds, evidence.texts, evidence.links, evidence.otherLinks, evidence.borders];
  const buttons = evidence.buttons.flatMap(({ background, border, color }) => [background, border, color]);
  return [
    ...tallies.flatMap((tally) => onGround(tally, ground).map(({ colour }) => colour)),
    ...buttons.map((text) => seen(text, ground)).filter((colour) => colour !== undefined),
  ];
}
