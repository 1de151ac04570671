/**
 * Content that comes only when it is scrolled to. A page is scrolled through once when something on it waits to come into
 * view: an element below the window that an IntersectionObserver watches, or a placeholder on a page that listens to
 * scrolling. It ends where it began, at the top.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { waitUntilSettled, type NetworkWatch } from './page-settle.js';
import { within } from './within.js';

const MAX_STEPS = 20;
const STEP_MS = 60;
/** Time for content to come at the end of the page. */
const MORE_MS = 1_500;
const MAX_WATCHED = 500;

/** Notes the watched elements. The page still finds the built-in functions unchanged. */
const WATCH = `(() => {
  if (typeof IntersectionObserver !== 'function') return;
  const seen = { watched: [], listens: false };
  Object.defineProperty(window, Symbol.for('scroll-signs'), { value: seen });
  const { prototype } = IntersectionObserver;
  prototype.observe = new Proxy(prototype.observe, {
    apply(observe, observer, args) {
      if (seen.watched.length < ${MAX_WATCHED} && args[0] instanceof Element) seen.watched.push(new WeakRef(args[0]));
      return Reflect.apply(observe, observer, args);
    },
  });
  EventTarget.prototype.addEventListener = new Proxy(EventTarget.prototype.addEventListener, {
    apply(add, target, args) {
      if (args[0] === 'scroll') seen.listens = true;
      return Reflect.apply(add, target, args);
    },
  });
})()`;

const WAITS_BELOW = `(() => {
  const seen = window[Symbol.for('scroll-signs')];
  const root = document.scrollingElement;
  if (!seen || !root || root.scrollHeight <= innerHeight) return false;
  const isBelow = (element) => element !== undefined && element.isConnected && element.getBoundingClientRect().top >= innerHeight;
  if (seen.watched.some((reference) => isBelow(reference.deref()))) return true;
  if (!seen.listens && typeof window.onscroll !== 'function') return false;
  const holders = document.querySelectorAll('[aria-busy=true],[class*=lazy i],[class*=skeleton i],[class*=infinite i],[class*=load-more i],[id*=sentinel i]');
  return [...holders].slice(0, 500).some(isBelow);
})()`;

const STEP = `(() => {
  const root = document.scrollingElement;
  scrollBy({ top: innerHeight, behavior: 'instant' });
  return { height: root.scrollHeight, atEnd: scrollY + innerHeight >= root.scrollHeight - 2 };
})()`;
const TO_TOP = `scrollTo({ top: 0, behavior: 'instant' })`;

/** Called before the page navigates. */
export async function watchScrollSigns(page: Page): Promise<void> {
  await page.addInitScript(WATCH);
}

/** Within `limitMs`, and at most 20 windows far. Never rejects. */
export async function scrollThrough(page: Page, network: NetworkWatch, limitMs: number): Promise<void> {
  const endsAt = performance.now() + limitMs;
  const leftMs = (): number => Math.max(0, endsAt - performance.now());
  if (leftMs() === 0 || !(await within(page.evaluate<boolean>(WAITS_BELOW), leftMs()))) return;
  let ended = 0;
  for (let steps = 0; steps < MAX_STEPS && leftMs() > 0; steps++) {
    const step = await within(page.evaluate<{ height: number; atEnd: boolean }>(STEP), leftMs());
    const { height, atEnd } = step ?? { height: ended, atEnd: true };
    if (!atEnd) await sleep(Math.min(STEP_MS, leftMs()));
    else if (height === ended) break;
    else await waitUntilSettled(page, network, Math.min(MORE_MS, leftMs()));
    ended = atEnd ? height : 0;
  }
  await within(page.evaluate(TO_TOP), leftMs());
}
