import type { Format, ScreenshotSpec, Viewport } from '@troupe/contracts';
import type { FormatKind } from './format-kind.js';
import type { Options } from './rules.js';
import { file } from './schema-parts.js';

/** Options of the format, and of the action of the same name. */
export const SCREENSHOT_OPTIONS: Options = {
  fullPage: { is: 'flag' },
  quality: { is: 'wholeNumber', min: 1, max: 100 },
  viewport: {
    is: 'object',
    of: {
      width: { is: 'wholeNumber', min: 1, max: 7680, required: true },
      height: { is: 'wholeNumber', min: 1, max: 4320, required: true },
    },
  },
};

export const screenshot: FormatKind<Extract<Format, { type: 'screenshot' }>> = {
  name: 'screenshot',
  madeBy: 'browser',
  answers: { screenshot: file },
  options: SCREENSHOT_OPTIONS,
  isLoose: true,
  isSingle: true,
  fromV2: (words) => ({ type: 'screenshot', ...screenshotFromV2(words) }),
  toV2: ({ type, fullPage, quality, viewport }) => ({
    type,
    fullPage,
    ...(quality === null ? {} : { quality }),
    ...(viewport === null ? {} : { viewport }),
  }),
  v1: {
    names: { screenshot: {}, 'screenshot@fullPage': { toV2: () => ({ type: 'screenshot', fullPage: true }) } },
    shownAs: ({ fullPage }) => (fullPage ? 'screenshot@fullPage' : 'screenshot'),
  },
};

export function screenshotFromV2(words: Record<string, unknown>): ScreenshotSpec {
  return {
    fullPage: (words.fullPage as boolean | undefined) ?? false,
    quality: (words.quality as number | undefined) ?? null,
    viewport: (words.viewport as Viewport | undefined) ?? null,
  };
}
