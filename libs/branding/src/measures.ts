/** Spacing, layout and motion. */
import type { BrandEvidence, Tally } from './evidence.js';
import { withoutGaps } from './without-gaps.js';

/** Larger spaces are places, not rhythm. */
const MAX_SPACE_PX = 128;
/** Larger first: what is a multiple of 8 is one of 4 as well. */
const UNITS_PX = [10, 8, 6, 5, 4];
const MIN_SHARE = 0.6;
/** A smaller unit must explain this much more to be believed. */
const GAIN = 0.9;

/** The unit that most spaces are multiples of; undefined when there is none. */
export function baseUnit(tallies: readonly Tally[]): number | undefined {
  const spaces = tallies
    .flat()
    .map(([value, weight]) => ({ px: Number(value), weight }))
    .filter(({ px }) => px >= 2 && px <= MAX_SPACE_PX);
  const total = spaces.reduce((sum, { weight }) => sum + weight, 0);
  if (total === 0) return undefined;
  const shares = UNITS_PX.map((unit) => {
    const fitting = spaces.filter(({ px }) => px % unit === 0);
    return { unit, share: fitting.reduce((sum, { weight }) => sum + weight, 0) / total };
  });
  const best = Math.max(...shares.map(({ share }) => share));
  return shares.find(({ share }) => share >= Math.max(MIN_SHARE, best * GAIN))?.unit;
}

export function readSpacing(evidence: BrandEvidence): Record<string, unknown> {
  return withoutGaps({
    baseUnit: baseUnit([evidence.paddings, evidence.margins, evidence.gaps]),
    padding: withoutGaps({
      button: mostUsed(evidence.buttons.map(({ paddingPx }) => paddingPx)),
      input: mostUsed(evidence.inputs.map(({ paddingPx }) => paddingPx)),
      section: first(evidence.sectionPaddings),
    }),
    margins: withoutGaps({
      heading: first(evidence.headingMargins),
      paragraph: first(evidence.paragraphMargins),
    }),
    gridGutter: first(evidence.gaps),
    borderRadius: radius(evidence),
  });
}

export function readLayout(evidence: BrandEvidence): Record<string, unknown> {
  return withoutGaps({
    grid: withoutGaps({ columns: first(evidence.columns), maxWidth: evidence.maxWidths[0]?.[0] }),
    headerHeight: height(evidence.headerPx),
    footerHeight: height(evidence.footerPx),
  });
}

export function readAnimations({ durations, easings }: BrandEvidence): Record<string, unknown> {
  return withoutGaps({ transitionDuration: durations[0]?.[0], easing: easings[0]?.[0] });
}

function first(tally: Tally): number | undefined {
  return tally[0] === undefined ? undefined : Number(tally[0][0]);
}

function mostUsed(values: readonly number[]): number | undefined {
  const uses = new Map<number, number>();
  for (const value of values) uses.set(value, (uses.get(value) ?? 0) + 1);
  return [...uses].sort(([, a], [, b]) => b - a)[0]?.[0];
}

function height(px: number): string | undefined {
  return px > 0 ? `${px}px` : undefined;
}

/** Radius of buttons and fields before that of boxes; circles and pills say nothing of corners. */
function radius({ buttons, inputs, radii }: BrandEvidence): string | undefined {
  const uses = new Map<string, number>();
  const add = (value: string, weight: number): void => {
    if (/^[\d.]+px$/.test(value) && Number.parseFloat(value) < 100) uses.set(value, (uses.get(value) ?? 0) + weight);
  };
  for (const control of [...buttons, ...inputs]) add(control.radius, 2);
  for (const [value, weight] of radii) add(value, value === '0px' ? weight / 4 : weight);
  return [...uses].sort(([, a], [, b]) => b - a)[0]?.[0];
}
