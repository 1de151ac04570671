/** Fonts by share of the text that is set in them, sizes, weights and line heights. */
import type { BrandEvidence, Tally, TextStyle } from './evidence.js';
import { withoutGaps } from './without-gaps.js';

export interface Font {
  family: string;
  role: 'body' | 'heading' | 'code';
  /** Share of the characters of the page, 0 to 1. */
  share: number;
}

/** Families that only say what kind is wanted. */
const GENERIC =
  /^(?:serif|sans-serif|monospace|cursive|fantasy|system-ui|ui-[a-z-]+|math|emoji|-apple-system|blinkmacsystemfont)$/i;
/** Name that bundlers make of a family's name. */
const BUNDLED = /^__(.+?)(?:_Fallback)?_[0-9a-f]{6}$/;
const MAX_FONTS = 10;

/** Families of a stack, most wanted first, without quotes. */
export function familiesOf(stack: string): string[] {
  const names = stack.match(/"[^"]*"|'[^']*'|[^,]+/g) ?? [];
  const bare = names.map((name) => name.trim().replace(/^(["'])(.*)\1$/, '$2'));
  return bare.filter((name) => name !== '').map((name) => BUNDLED.exec(name)?.[1]?.replaceAll('_', ' ') ?? name);
}

/** The first family that names a typeface, else the first one. */
function familyOf(stack: string | undefined): string | undefined {
  if (stack === undefined) return undefined;
  const families = familiesOf(stack);
  return families.find((family) => !GENERIC.test(family)) ?? families[0];
}

export function readFonts({ bodyStacks, headingStacks, codeStacks }: BrandEvidence): Font[] {
  const uses = [
    ...bodyStacks.map((entry) => ({ role: 'body' as const, entry })),
    ...headingStacks.map((entry) => ({ role: 'heading' as const, entry })),
    ...codeStacks.map((entry) => ({ role: 'code' as const, entry })),
  ];
  const total = uses.reduce((sum, { entry }) => sum + entry[1], 0);
  const fonts = new Map<string, { chars: number; role: Font['role']; most: number }>();
  for (const { role, entry } of uses) {
    const family = familyOf(entry[0]);
    if (family === undefined) continue;
    const known = fonts.get(family) ?? { chars: 0, role, most: 0 };
    known.chars += entry[1];
    if (entry[1] > known.most) Object.assign(known, { role, most: entry[1] });
    fonts.set(family, known);
  }
  return [...fonts]
    .sort(([, a], [, b]) => b.chars - a.chars)
    .slice(0, MAX_FONTS)
    .map(([family, { chars, role }]) => ({ family, role, share: Math.round((chars / total) * 100) / 100 }));
}

// eslint-disable-next-line complexity -- one gap a field
export function readTypography(evidence: BrandEvidence): Record<string, unknown> {
  const { headings, body } = evidence;
  const bodyStack = evidence.bodyStacks[0]?.[0] ?? body?.stack;
  const headingStack = evidence.headingStacks[0]?.[0] ?? bodyStack;
  const paragraphStack = evidence.paragraphStacks[0]?.[0] ?? bodyStack;
  return withoutGaps({
    fontFamilies: withoutGaps({
      primary: familyOf(bodyStack),
      heading: familyOf(headingStack),
      code: familyOf(evidence.codeStacks[0]?.[0]),
    }),
    fontStacks: withoutGaps({
      primary: stackOf(bodyStack),
      heading: stackOf(headingStack),
      body: stackOf(bodyStack),
      paragraph: stackOf(paragraphStack),
    }),
    fontSizes: withoutGaps({
      h1: headings.h1?.size,
      h2: headings.h2?.size,
      h3: headings.h3?.size,
      body: body?.size,
      small: evidence.small?.size ?? smallSize(evidence.sizes, body),
    }),
    lineHeights: withoutGaps({
      heading: ratio(headings.h1 ?? headings.h2 ?? headings.h3),
      body: ratio(body ?? undefined),
    }),
    fontWeights: readWeights(evidence.weights),
  });
}

function stackOf(stack: string | undefined): string[] | undefined {
  return stack === undefined ? undefined : familiesOf(stack);
}

function ratio(style: TextStyle | undefined): number | undefined {
  return style === undefined || style.lineHeight === 0 ? undefined : style.lineHeight;
}

/** The most used size below that of the body. */
function smallSize(sizes: Tally, body: TextStyle | null): string | undefined {
  if (body === null) return undefined;
  return sizes.find(([size]) => Number.parseFloat(size) < Number.parseFloat(body.size))?.[0];
}

function readWeights(weights: Tally): Record<string, unknown> {
  const within = (from: number, to: number): number | undefined =>
    weights.map(([weight]) => Number(weight)).find((weight) => weight >= from && weight <= to);
  return withoutGaps({
    light: within(1, 349),
    regular: within(350, 449),
    medium: within(450, 599),
    bold: within(600, 1000),
  });
}
