/** Evidence of a page that shows nothing, for specs. */
import type { BrandEvidence, ButtonEvidence, LogoEvidence } from './evidence.js';

/** A profile as specs look at it. */
export interface SeenProfile {
  colorScheme: string;
  brandName: string;
  logo: string;
  fonts: object[];
  colors: Record<string, string>;
  typography: Record<string, unknown>;
  spacing: Record<string, unknown>;
  components: Record<string, Record<string, string>>;
  images: Record<string, string>;
}

export function evidenceOf(changes: Partial<BrandEvidence> = {}): BrandEvidence {
  return {
    url: 'http://acme.test/',
    title: '',
    metas: {},
    icons: [],
    jsonLd: [],
    canvas: ['', ''],
    defaults: 'light',
    variables: [],
    backgrounds: [],
    texts: [],
    links: [],
    otherLinks: [],
    borders: [],
    messages: [],
    bodyStacks: [],
    headingStacks: [],
    paragraphStacks: [],
    codeStacks: [],
    sizes: [],
    weights: [],
    headings: {},
    body: null,
    small: null,
    paddings: [],
    margins: [],
    gaps: [],
    sectionPaddings: [],
    headingMargins: [],
    paragraphMargins: [],
    radii: [],
    buttons: [],
    inputs: [],
    iconStyles: [],
    iconColors: [],
    durations: [],
    easings: [],
    logos: [],
    columns: [],
    maxWidths: [],
    headerPx: 0,
    footerPx: 0,
    ...changes,
  };
}

export function buttonOf(changes: Partial<ButtonEvidence> = {}): ButtonEvidence {
  return {
    background: '',
    color: 'rgb(0, 0, 0)',
    border: '',
    radius: '4px',
    area: 4000,
    named: null,
    isSubmit: false,
    paddingPx: 16,
    ...changes,
  };
}

export function logoOf(src: string, changes: Partial<LogoEvidence> = {}): LogoEvidence {
  return {
    src,
    svg: null,
    alt: '',
    href: null,
    isHomeLink: false,
    isInHeader: false,
    isInFooter: false,
    namesLogo: null,
    isOfOthers: false,
    top: 20,
    width: 120,
    height: 40,
    ...changes,
  };
}
