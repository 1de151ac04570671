/** Which parts of a page a writer shows, and how much text they hold. */
import type { ScrapeSpec } from '@troupe/contracts';
import { selectMainContent } from './main-content.js';
import {
  compileExclude,
  compileSelector,
  DROP,
  F,
  flagsOf,
  KEEP,
  type Mask,
  type Measures,
  PASS,
  selectAll,
  T,
  TEXT,
  type Tree,
} from '@troupe/html';

/** A `noscript` with this much text, and twice as much as the rest of the page, is the page for readers without scripts. */
const MIN_SCRIPTLESS_CHARS = 300;

/** Everything but what is never shown (scripts, styles, head, templates). */
export function wholePage(tree: Tree): Mask {
  const mask = new Uint8Array(tree.count).fill(KEEP);
  let scriptless = -1;
  for (let node = 0; node < tree.count; node++) {
    if ((flagsOf(tree.tag[node]!) & F.invisible) === 0) continue;
    mask[node] = DROP;
    if (tree.tag[node] === T.noscript && isLonger(tree, node, scriptless)) scriptless = node;
  }
  if (scriptless >= 0 && isWholePage(tree, mask, scriptless)) mask[scriptless] = KEEP;
  return mask;
}

function isLonger(tree: Tree, node: number, than: number): boolean {
  return than < 0 || tree.end[node]! - node > tree.end[than]! - than;
}

function isWholePage(tree: Tree, mask: Mask, noscript: number): boolean {
  const inside = textIn(tree, mask, noscript + 1, tree.end[noscript]!, MAX_COUNTED_CHARS);
  if (inside < MIN_SCRIPTLESS_CHARS) return false;
  return textIn(tree, mask, 0, tree.count, inside) * 2 < inside;
}

/** More text than this is plenty, however much it is. */
const MAX_COUNTED_CHARS = 20_000;

/** Characters of text, up to about `enough`. */
function textIn(tree: Tree, mask: Mask, from: number, to: number, enough: number): number {
  let chars = 0;
  for (let node = from; node < to && chars < enough;) {
    if (mask[node] === DROP) {
      node = tree.end[node]!;
      continue;
    }
    if (tree.tag[node] === TEXT) chars += tree.source.slice(tree.from[node], tree.to[node]).trim().length;
    node++;
  }
  return chars;
}

/** The parts that writers show, and what the reader of the document should know about them. */
export interface Selection {
  mask: Mask;
  warning?: string;
  /** Which share of the content a search for the main content left out, by its own estimate: 0 to 1. */
  loss?: number;
}

/**
 * Applies includeTags, then excludeTags, then onlyMainContent. Named tags win over the guess: with includeTags the page
 * is not searched for its main content. When main content would be empty, the rest of the page is kept.
 *
 * @throws TroupeError BAD_REQUEST for a bad selector
 */
export function select(
  tree: Tree,
  spec: Pick<ScrapeSpec, 'onlyMainContent' | 'includeTags' | 'excludeTags'>,
  whole: { mask: Mask; measures: Measures },
): Selection {
  let mask = whole.mask;
  if (spec.includeTags.length > 0) mask = only(tree, mask, matches(tree, spec.includeTags, compileSelector));
  if (spec.excludeTags.length > 0) mask = without(mask, matches(tree, spec.excludeTags, compileExclude));
  if (!spec.onlyMainContent || spec.includeTags.length > 0) return { mask };
  if (whole.measures.text[0]! < MIN_CHARS_TO_CUT) return { mask };
  const main = selectMainContent(tree, mask, whole.measures);
  if (main === null) return { mask };
  const { loss } = main;
  if (main.isFuller) return { mask: main.mask, loss, warning: UNCLEAR };
  return loss > MAX_SILENT_LOSS ? { mask: main.mask, loss, warning: lossWarning(loss) } : { mask: main.mask, loss };
}

/** A page of a few words has nothing to spare. */
const MIN_CHARS_TO_CUT = 60;
const UNCLEAR =
  'The main content of this page is unclear, so more of the page was kept; includeTags or excludeTags can narrow it.';

/** A reader is told of more. */
const MAX_SILENT_LOSS = 0.15;
const lossWarning = (loss: number): string =>
  `Some ${Math.round(loss * 100)} % of the content may have been left out: "onlyMainContent": false returns the whole page.`;

/** The part of the page that included and excluded tags leave, its head included; null: all of it. @throws TroupeError BAD_REQUEST */
export function tagMask(
  tree: Tree,
  { includeTags, excludeTags }: Pick<ScrapeSpec, 'includeTags' | 'excludeTags'>,
  measures: Measures,
): Mask | null {
  if (includeTags.length === 0 && excludeTags.length === 0) return null;
  const all = new Uint8Array(tree.count).fill(KEEP);
  const { mask } = select(tree, { includeTags, excludeTags, onlyMainContent: false }, { mask: all, measures });
  return excludeTags.length === 0 ? mask : droppedWhole(tree, mask);
}

/** A mask that says of each node alone whether it is dropped. */
function droppedWhole(tree: Tree, mask: Mask): Mask {
  const whole = mask.slice();
  for (let node = 1; node < tree.count; node++) if (whole[tree.parent[node]!] === DROP) whole[node] = DROP;
  return whole;
}

function matches(tree: Tree, selectors: string[], compile: typeof compileSelector): number[] {
  const matchers = selectors.map(compile);
  return selectAll(tree, (page, node) => matchers.some((matcher) => matcher(page, node)));
}

/** The given subtrees of what the mask keeps; their ancestors are passed through. */
export function only(tree: Tree, mask: Mask, roots: readonly number[]): Mask {
  const narrowed = new Uint8Array(tree.count);
  for (const root of roots) {
    narrowed.set(mask.subarray(root, tree.end[root]), root);
    for (let up = tree.parent[root]!; up >= 0 && narrowed[up] === DROP; up = tree.parent[up]!) {
      narrowed[up] = mask[up] === DROP ? DROP : PASS;
    }
  }
  return narrowed;
}

function without(mask: Mask, dropped: readonly number[]): Mask {
  const narrowed = mask.slice();
  for (const node of dropped) narrowed[node] = DROP;
  return narrowed;
}
