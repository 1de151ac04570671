/** Elements by CSS selector, wherever they are: open shadow roots are looked into, and child frames after the page itself. */
import type { ElementHandle, Frame, Page } from 'playwright-core';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stage } from '../stage.js';
import { ActionFailure, isGone } from './action-failure.js';

/** How long a match may take to appear. */
const FIND_LIMIT_MS = 5_000;
const LOOK_EVERY_MS = 100;
const MAX_FRAMES = 50;
const MAX_MATCHES = 500;
const BAD_SELECTOR = /while parsing|not a valid selector|unknown engine/i;

/** The methods of page elements that are used here. */
export interface ShownElement {
  outerHTML: string;
  clientHeight: number;
  checkVisibility(options: { visibilityProperty: boolean }): boolean;
  scrollBy(by: { top: number; behavior: 'instant' }): void;
  getRootNode(): { activeElement: unknown };
}
export type Handle = ElementHandle<ShownElement>;

/** @throws ActionFailure for a bad selector, and when nothing matches in time */
export async function firstMatch(stage: Stage, selector: string): Promise<Handle> {
  const handle = await look(stage, FIND_LIMIT_MS, () => firstIn(stage.page, selector));
  if (handle === null) throw noMatch(selector);
  return handle;
}

/** Every match of all frames, at least one. @throws ActionFailure as `firstMatch`, and for too many */
export async function allMatches(stage: Stage, selector: string): Promise<Handle[]> {
  const handles = await look(stage, FIND_LIMIT_MS, () => allIn(stage.page, selector));
  if (handles === null) throw noMatch(selector);
  if (handles.length > MAX_MATCHES) {
    throw new ActionFailure(
      `${handles.length} elements match ${quoted(selector)}, more than the ${MAX_MATCHES} that can be clicked`,
    );
  }
  return handles;
}

/** Resolves when the first match is displayed, though it may be empty. @throws ActionFailure */
export async function untilShown(stage: Stage, selector: string, limitMs: number): Promise<void> {
  let isThere = false;
  const shown = await look(stage, limitMs, async () => {
    const handle = await firstIn(stage.page, selector);
    isThere = handle !== null;
    const isShown = await handle?.evaluate((element) => element.checkVisibility({ visibilityProperty: true }));
    return isShown === true ? handle : null;
  });
  if (shown !== null) return;
  throw isThere ? new ActionFailure(`the element ${quoted(selector)} is there, but not shown`) : noMatch(selector);
}

function noMatch(selector: string): ActionFailure {
  return new ActionFailure(`no element matches ${quoted(selector)}`);
}

function quoted(selector: string): string {
  return JSON.stringify(selector.length > 100 ? `${selector.slice(0, 100)}…` : selector);
}

/** Looks until there is a match, or for `limitMs`. While a page is being replaced there is none. */
async function look<T>({ signal }: Stage, limitMs: number, once: () => Promise<T | null>): Promise<T | null> {
  const endsAt = performance.now() + limitMs;
  for (;;) {
    const found = await once().catch((error: unknown) => {
      if (isGone(error)) return null;
      throw error;
    });
    if (found !== null || performance.now() >= endsAt) return found;
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}

async function firstIn(page: Page, selector: string): Promise<Handle | null> {
  for (const frame of framesOf(page)) {
    const handle = await inFrame(frame, selector, () => frame.$(`css=${selector}`));
    if (handle !== null) return handle;
  }
  return null;
}

async function allIn(page: Page, selector: string): Promise<Handle[] | null> {
  const found: Handle[] = [];
  for (const frame of framesOf(page)) {
    found.push(...(((await inFrame(frame, selector, () => frame.$$(`css=${selector}`))) ?? []) as Handle[]));
  }
  return found.length === 0 ? null : found;
}

/** All frames, the main one first. */
function framesOf(page: Page): Frame[] {
  return page.frames().slice(0, MAX_FRAMES);
}

/** A child frame that goes away has no match; the main one is looked at again. */
async function inFrame<T>(frame: Frame, selector: string, query: () => Promise<T>): Promise<T | null> {
  try {
    return await query();
  } catch (error) {
    if (error instanceof Error && BAD_SELECTOR.test(error.message)) {
      throw new ActionFailure(`${quoted(selector)} is not a valid CSS selector`);
    }
    if (isGone(error) && frame.parentFrame() !== null) return null;
    throw error;
  }
}
