import type { Tree } from './tree.js';

const PERMALINK = /^\s*[¶#§🔗⚓]+\s*$/u;

/** The sign behind a heading that links to the heading itself. */
export function isPermalink(tree: Tree, node: number, href: string): boolean {
  return tree.end[node]! - node <= 3 && href.includes('#') && PERMALINK.test(tree.textContent(node));
}
