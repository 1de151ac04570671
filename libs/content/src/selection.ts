/** Which parts of a page a writer shows, and how much text they hold. */
import type { ScrapeSpec } from '@troupe/contracts';
import { selectMainContent } from './main-content.js';
import { DROP, KEEP, PASS, type Mask } from './mask.js';
import { measure, type Measures } from './measures.js';
import { compileExclude, compileSelector, selectAll } from './selector.js';
import { F, flagsOf } from './tags.js';
import type { Tree } from './tree.js';

/** Everything but what is never shown (scripts, styles, head, templates). */
export function wholePage(tree: Tree): Mask {
  const mask = new Uint8Array(tree.count).fill(KEEP);
  for (let node = 0; node < tree.count; node++) if (flagsOf(tree.tag[node]!) & F.invisible) mask[node] = DROP;
  return mask;
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
): Mask {
  let mask = whole.mask;
  if (spec.includeTags.length > 0) mask = only(tree, mask, matches(tree, spec.includeTags, compileSelector));
  if (spec.excludeTags.length > 0) mask = without(mask, matches(tree, spec.excludeTags, compileExclude));
  if (!spec.onlyMainContent || spec.includeTags.length > 0) return mask;
  const measures = mask === whole.mask ? whole.measures : measure(tree, mask, whole.measures);
  return selectMainContent(tree, mask, measures) ?? mask;
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
