/** How buttons and fields look, and the drawings that serve as icons. */
import { isColourful, isDistinct, over, parseColour, toHex, type Colour } from './colour.js';
import type { BrandEvidence, ButtonEvidence } from './evidence.js';
import type { Palette } from './palette.js';
import { withoutGaps } from './without-gaps.js';

interface Look {
  buttons: ButtonEvidence[];
  points: number;
}

export function readComponents(evidence: BrandEvidence, palette: Palette): Record<string, unknown> {
  const looks = looksOf(evidence.buttons, palette);
  const primary = looks.find(({ buttons }) => buttons.some(({ named }) => named !== 'secondary'));
  const secondary = looks.find((look) => look !== primary);
  return withoutGaps({
    buttonPrimary: primary === undefined ? undefined : describeButton(primary.buttons[0]!, palette.ground),
    buttonSecondary: secondary === undefined ? undefined : describeButton(secondary.buttons[0]!, palette.ground),
    input: describeInput(evidence, palette.ground),
  });
}

export function readIcons({ iconStyles, iconColors }: BrandEvidence, { ground }: Palette): Record<string, unknown> {
  return withoutGaps({ style: iconStyles[0]?.[0], primaryColor: hexOf(iconColors[0]?.[0] ?? '', ground) });
}

/** Buttons that look the same, the most prominent look first. */
function looksOf(buttons: readonly ButtonEvidence[], palette: Palette): Look[] {
  const looks = new Map<string, ButtonEvidence[]>();
  for (const button of buttons) {
    const key = [button.background, button.color, button.border, button.radius].join('|');
    looks.set(key, [...(looks.get(key) ?? []), button]);
  }
  return [...looks.values()]
    .map((same) => ({ buttons: same, points: prominence(same, palette) }))
    .sort((a, b) => b.points - a.points);
}

const POINTS = { filled: 50, colourful: 30, named: 40, ofPrimaryColour: 20, submit: 5, each: 5, mostEach: 30 };
/** Side of a square of as many pixels that is worth a point. */
const SIDE_PER_POINT = 20;

function prominence(buttons: readonly ButtonEvidence[], { ground, colours }: Palette): number {
  const { background } = buttons[0]!;
  const fill = parseColour(background);
  const shown = fill === null ? null : over(fill, ground);
  const isFilled = shown !== null && isDistinct(shown, ground);
  const isOfPrimary = shown !== null && colours.primary !== undefined && !isDistinct(shown, colours.primary);
  const named = (name: ButtonEvidence['named']): number => (buttons.some((button) => button.named === name) ? 1 : 0);
  return (
    (isFilled ? POINTS.filled : 0) +
    (shown !== null && isColourful(shown) ? POINTS.colourful : 0) +
    (isOfPrimary ? POINTS.ofPrimaryColour : 0) +
    (named('primary') - named('secondary')) * POINTS.named +
    (buttons.some(({ isSubmit }) => isSubmit) ? POINTS.submit : 0) +
    Math.min(POINTS.mostEach, buttons.length * POINTS.each) +
    Math.sqrt(Math.max(...buttons.map(({ area }) => area))) / SIDE_PER_POINT
  );
}

function describeButton(
  { background, color, border, radius }: ButtonEvidence,
  ground: Colour,
): Record<string, unknown> {
  const fill = parseColour(background);
  const below = fill === null ? ground : over(fill, ground);
  return withoutGaps({
    background: fill === null ? 'transparent' : toHex(below),
    textColor: hexOf(color, below),
    borderColor: hexOf(border, ground),
    borderRadius: radius,
  });
}

function describeInput({ inputs }: BrandEvidence, ground: Colour): Record<string, unknown> {
  const input = inputs[0];
  if (input === undefined) return {};
  return withoutGaps({
    borderColor: hexOf(input.border, ground),
    focusBorderColor: hexOf(input.focusBorder, ground),
    borderRadius: input.radius,
  });
}

function hexOf(text: string, ground: Colour): string | undefined {
  const colour = parseColour(text);
  return colour === null ? undefined : toHex(over(colour, ground));
}
