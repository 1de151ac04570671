/** Colours as computed styles write them, and what is measured of them. */

export interface Colour {
  /** 0 to 255. */
  r: number;
  g: number;
  b: number;
  /** 0 to 1. */
  a: number;
}

export const WHITE: Colour = { r: 255, g: 255, b: 255, a: 1 };
/** Colour that Chromium paints below a page that asks for dark defaults. */
export const DEFAULT_DARK: Colour = { r: 18, g: 18, b: 18, a: 1 };

const RGB =
  /^rgba?\(\s{0,4}([\d.]{1,12}),?\s{1,4}([\d.]{1,12}),?\s{1,4}([\d.]{1,12})(?:\s{0,4}[,/]\s{0,4}([\d.]{1,12}))?\s{0,4}\)$/;
const HEX = /^#(?:[\da-f]{3}|[\da-f]{6})$/i;

/** Reads `rgb()`, `rgba()` and hex; null for anything else. */
export function parseColour(text: string): Colour | null {
  const parts = RGB.exec(text);
  if (parts !== null) {
    const [r, g, b] = [parts[1], parts[2], parts[3]].map((part) => Math.min(255, Math.round(Number(part))));
    return { r: r!, g: g!, b: b!, a: parts[4] === undefined ? 1 : Math.min(1, Number(parts[4])) };
  }
  if (!HEX.test(text)) return null;
  const digits = text.length === 4 ? text.slice(1).replace(/./g, '$&$&') : text.slice(1);
  const value = Number.parseInt(digits, 16);
  return { r: value >> 16, g: (value >> 8) & 255, b: value & 255, a: 1 };
}

export function toHex({ r, g, b }: Colour): string {
  return `#${[r, g, b].map((part) => part.toString(16).padStart(2, '0')).join('')}`.toUpperCase();
}

/** The colour as it is seen on an opaque ground. */
export function over(colour: Colour, ground: Colour): Colour {
  const mix = (top: number, below: number): number => Math.round(top * colour.a + below * (1 - colour.a));
  return { r: mix(colour.r, ground.r), g: mix(colour.g, ground.g), b: mix(colour.b, ground.b), a: 1 };
}

/** Relative luminance (WCAG 2), 0 to 1. */
export function luminance({ r, g, b }: Colour): number {
  const linear = (part: number): number => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** Contrast ratio (WCAG 2), 1 to 21. */
export function contrast(one: Colour, other: Colour): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light! + 0.05) / (dark! + 0.05);
}

/** Difference of the strongest and the weakest part, 0 (grey) to 1. */
export function chroma({ r, g, b }: Colour): number {
  return (Math.max(r, g, b) - Math.min(r, g, b)) / 255;
}

const MIN_CHROMA = 0.16;

/** Whether it is a colour rather than a grey. */
export function isColourful(colour: Colour): boolean {
  return chroma(colour) >= MIN_CHROMA;
}

/** Weighted distance, about that of the eye; 0 to about 765. */
export function distance(one: Colour, other: Colour): number {
  const mean = (one.r + other.r) / 2;
  const [r, g, b] = [one.r - other.r, one.g - other.g, one.b - other.b];
  return Math.sqrt((2 + mean / 256) * r * r + 4 * g * g + (2 + (255 - mean) / 256) * b * b);
}

/** Two colours that no reader would take for shades of one. */
export function isDistinct(one: Colour, other: Colour): boolean {
  return distance(one, other) >= 100;
}
