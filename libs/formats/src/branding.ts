import type { FormatKind } from './format-kind.js';
import { count, file, inComponents, listOf, mapOf, number, object, text, type Schema } from './schema-parts.js';

const NO_BRANDING = 'Only HTML pages have a branding.';
const hex: Schema = { type: 'string', pattern: '^#[0-9A-F]{6}$' };
const button = object({ 'background?': text, 'textColor?': hex, 'borderColor?': hex, 'borderRadius?': text });

/** Colours, fonts, spacing and logo, read by a browser while it shows the page. */
export const branding: FormatKind = {
  name: 'branding',
  madeBy: 'browser',
  answers: { branding: inComponents('Branding') },
  components: {
    Branding: object(
      {
        'colorScheme?': { type: 'string', enum: ['light', 'dark'] },
        'brandName?': text,
        'logo?': file,
        'fonts?': listOf(
          object({ family: text, role: { type: 'string', enum: ['body', 'heading', 'code'] }, share: number }),
        ),
        'colors?': {
          ...mapOf(hex),
          description:
            'primary, secondary, accent, background, textPrimary, textSecondary, link, success, warning, error',
        },
        'typography?': object({
          'fontFamilies?': mapOf(text),
          'fontStacks?': mapOf(listOf(text)),
          'fontSizes?': mapOf(text),
          'lineHeights?': mapOf(number),
          'fontWeights?': mapOf(number),
        }),
        'spacing?': object({
          'baseUnit?': number,
          'padding?': mapOf(number),
          'margins?': mapOf(number),
          'gridGutter?': number,
          'borderRadius?': text,
        }),
        'components?': object({
          'buttonPrimary?': button,
          'buttonSecondary?': button,
          'input?': object({ 'borderColor?': hex, 'focusBorderColor?': hex, 'borderRadius?': text }),
        }),
        'icons?': mapOf(text),
        'images?': mapOf(text),
        'animations?': mapOf(text),
        'layout?': object({
          'grid?': object({ 'columns?': count, 'maxWidth?': text }),
          'headerHeight?': text,
          'footerHeight?': text,
        }),
      },
      {
        additionalProperties: true,
        description: 'The look of the page, from its computed styles. Unknown keys are left out.',
      },
    ),
  },
  v1: { names: { branding: {} } },
  /** A browser has given it before anything is written. */
  write: (page) => {
    if (page.kind === 'text' && !page.captured.has('branding')) page.warn(NO_BRANDING);
    return undefined;
  },
};
