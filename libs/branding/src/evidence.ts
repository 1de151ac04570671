/** Evidence of a brand in the look of a page: counted in the browser (`collect-evidence.ts`), judged by the rules beside. */

/** Values and how much of each was seen, most first. The measure is given where it is used. */
export type Tally = [value: string, weight: number][];

export interface ButtonEvidence {
  /** Colours as `rgb()` or `rgba()`, '' for none. */
  background: string;
  color: string;
  border: string;
  /** As computed: `8px`, `50%`. */
  radius: string;
  /** In CSS pixels. */
  area: number;
  /** Its class or id calls it primary, or secondary. */
  named: 'primary' | 'secondary' | null;
  isSubmit: boolean;
  paddingPx: number;
}

export interface InputEvidence {
  border: string;
  focusBorder: string;
  radius: string;
  paddingPx: number;
}

export interface LogoEvidence {
  /** Absolute address or data URI of an image; null for a drawing. */
  src: string | null;
  /** Markup of a drawing. */
  svg: string | null;
  alt: string;
  /** Absolute; null outside of a link. */
  href: string | null;
  isHomeLink: boolean;
  isInHeader: boolean;
  isInFooter: boolean;
  /** Its class, id, alt or address says logo, or that of an element around it does. */
  namesLogo: 'itself' | 'holder' | null;
  /** Stands among customers, partners and the like. */
  isOfOthers: boolean;
  top: number;
  width: number;
  height: number;
}

export interface TextStyle {
  color: string;
  size: string;
  /** Ratio to the size; 0: the font's own. */
  lineHeight: number;
  weight: number;
  stack: string;
}

export interface BrandEvidence {
  url: string;
  title: string;
  /** Names in lower case. */
  metas: Record<string, string>;
  icons: { rel: string; href: string; px: number }[];
  /** Texts of JSON-LD blocks. */
  jsonLd: string[];
  /** Backgrounds of root, body and elements that cover the window, from the outside in; '' where nothing is painted. */
  canvas: string[];
  /** `dark` when the page asks the browser for dark defaults. */
  defaults: 'light' | 'dark';
  /** Custom properties of root and body that are colours, `--` left out. */
  variables: [name: string, color: string][];
  /** By area in pixels, without the canvas. */
  backgrounds: Tally;
  /** By characters, outside of headings, links and buttons. */
  texts: Tally;
  /** By characters; of links in running text, and of all others. */
  links: Tally;
  otherLinks: Tally;
  /** By number of elements. */
  borders: Tally;
  /** Colours of messages, by the word that their class has. */
  messages: { word: string; color: string; background: string; border: string }[];
  /** Font stacks by characters. */
  bodyStacks: Tally;
  headingStacks: Tally;
  paragraphStacks: Tally;
  codeStacks: Tally;
  /** By characters. */
  sizes: Tally;
  weights: Tally;
  headings: Partial<Record<'h1' | 'h2' | 'h3', TextStyle>>;
  body: TextStyle | null;
  small: TextStyle | null;
  /** Pixel values by number of uses. */
  paddings: Tally;
  margins: Tally;
  gaps: Tally;
  sectionPaddings: Tally;
  headingMargins: Tally;
  paragraphMargins: Tally;
  /** As computed, by number of uses on cards, pictures and other boxes that are painted. */
  radii: Tally;
  buttons: ButtonEvidence[];
  inputs: InputEvidence[];
  /** Small drawings: painted as lines or as areas, by number; and their colours. */
  iconStyles: Tally;
  iconColors: Tally;
  durations: Tally;
  easings: Tally;
  logos: LogoEvidence[];
  /** Columns of grids by number of uses, and maximum widths of content. */
  columns: Tally;
  maxWidths: Tally;
  headerPx: number;
  footerPx: number;
}
