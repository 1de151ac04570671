/**
 * Boxes of advertising and cookie banners on a page: they are hidden at first, because scripts of the page may still
 * count on them, and taken out of the DOM before it is read.
 */
import type { Action } from '@troupe/contracts';
import type { Page } from 'playwright-core';
import type { AdFilter, PageNames } from './ad-filter.js';

const NAMES = `(() => {
  const classes = new Set();
  const ids = new Set();
  const named = document.querySelectorAll('[class],[id]');
  for (let at = 0; at < named.length && at < 20000 && classes.size < 10000; at++) {
    const element = named[at];
    if (element.id) ids.add(String(element.id).slice(0, 100));
    for (const name of element.classList) classes.add(name.slice(0, 100));
  }
  return { classes: [...classes], ids: [...ids] };
})()`;

/**
 * \`find(selectors, spared)\`: boxes that a selector names, and those that lie over the page and speak of cookies.
 * Nothing that holds most of the page's text, or a spared element.
 */
const FIND = `const find = (selectors, spared) => {
  const all = (selector) => { try { return [...document.querySelectorAll(selector)]; } catch { return []; } };
  const pageText = document.body ? document.body.textContent.length : 0;
  const wanted = spared.flatMap(all);
  const isBox = (box) => {
    if (box === document.body || box === document.documentElement) return false;
    const text = box.textContent.length;
    return (text < 2000 || text * 2 < pageText) && !wanted.some((element) => box.contains(element));
  };
  const words = ['cookie', 'consent', 'gdpr'];
  const suspects = all(words.map((word) => '[id*="' + word + '" i],[class*="' + word + '" i],[aria-label*="' + word + '" i]').join());
  const speaks = /\\bcookies?\\b|consent|datenschutz|rgpd|gdpr/i;
  const liesOver = (box) => {
    if (box.textContent.length > 8000 || !speaks.test(box.textContent)) return false;
    const position = getComputedStyle(box).position;
    return position === 'fixed' || position === 'sticky' || (box.tagName === 'DIALOG' && box.open);
  };
  const named = selectors.flatMap(all);
  return [...new Set([...named, ...suspects.slice(0, 200).filter(liesOver)])].filter(isBox);
};`;

const HIDE = `for (const box of boxes) box.style && box.style.setProperty('display', 'none', 'important');
for (const root of boxes.length > 0 ? [document.documentElement, document.body] : [])
  if (getComputedStyle(root).overflowY === 'hidden') root.style.setProperty('overflow-y', 'auto', 'important');`;
const REMOVE = `for (const box of boxes) box.remove();`;

export class PageBoxes {
  private selectors: string[] = [];
  private hasHidden = false;

  /** `spared`: selectors of elements that must stay, because something is to be done with them. */
  constructor(
    private readonly page: Page,
    private readonly filter: AdFilter,
    private readonly spared: string[],
  ) {}

  /** Never rejects: a page that is just navigating keeps its boxes. */
  async hide(): Promise<void> {
    try {
      const names = await this.page.evaluate<PageNames>(NAMES);
      this.selectors = this.filter.boxes(this.page.url(), names);
      this.hasHidden = (await this.apply(HIDE)) > 0;
    } catch {
      this.hasHidden = false;
    }
  }

  /** Takes what was hidden out of the DOM. Never rejects. */
  async remove(): Promise<void> {
    if (this.hasHidden) await this.apply(REMOVE).catch(() => 0);
  }

  private apply(change: string): Promise<number> {
    const words = `${JSON.stringify(this.selectors)}, ${JSON.stringify(this.spared)}`;
    return this.page.evaluate<number>(
      `(() => { ${FIND} const boxes = find(${words}); ${change} return boxes.length; })()`,
    );
  }
}

/** Selectors of the elements that actions name. */
export function touchedSelectors(actions: readonly Action[]): string[] {
  return actions.flatMap((action) => ('selector' in action && action.selector !== null ? [action.selector] : []));
}
