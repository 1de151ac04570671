/** The look of a page, as the `branding` of a document (docs/api/formats.md). Pure. */
import { readComponents, readIcons } from './components.js';
import type { BrandEvidence } from './evidence.js';
import { readIdentity } from './identity.js';
import { readAnimations, readLayout, readSpacing } from './measures.js';
import { hexColours, readPalette } from './palette.js';
import { readFonts, readTypography } from './typography.js';
import { withoutGaps } from './without-gaps.js';

/** Keys without a value are left out: clients reject null where they expect text. */
export type BrandProfile = Record<string, unknown>;

export function brandProfile(evidence: BrandEvidence): BrandProfile {
  const palette = readPalette(evidence);
  const { brandName, logo, images } = readIdentity(evidence);
  return withoutGaps({
    colorScheme: palette.colorScheme,
    brandName,
    logo,
    fonts: readFonts(evidence),
    colors: hexColours(palette),
    typography: readTypography(evidence),
    spacing: readSpacing(evidence),
    components: readComponents(evidence, palette),
    icons: readIcons(evidence, palette),
    images,
    animations: readAnimations(evidence),
    layout: readLayout(evidence),
  });
}
