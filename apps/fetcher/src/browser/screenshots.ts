/**
 * Pictures of a page as data URIs, one image pixel per CSS pixel. A full page is scrolled through first, so that what
 * loads on sight is loaded; its picture ends where Chromium's surfaces do.
 */
import { TroupeError, type ScreenshotSpec, type Viewport } from '@troupe/contracts';
import type { Page } from 'playwright-core';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stage } from './stage.js';
import { within } from './within.js';

const MAX_SIDE = 16_384;
/** A little more than the largest viewport. */
const MAX_PIXELS = 34_000_000;
/** Tried in turn when a picture is too large as it was asked for. */
const LIGHTER_QUALITIES = [80, 50];

const MAX_SCROLL_STEPS = 60;
const SCROLL_LIMIT_MS = 6_000;
const SCROLL_PAUSE_MS = 100;
const LAZY_SETTLE_MS = 2_000;
const IMAGES_LIMIT_MS = 3_000;
const LAYOUT_LIMIT_MS = 1_000;

const TWO_FRAMES = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`;
const POSITION = `({ left: scrollX, top: scrollY })`;
const SIZE = `(() => {
  const shown = [document.documentElement, document.body].filter((element) => element !== null);
  const largest = (side) => Math.max(1, ...shown.map((element) => element[side]));
  return { width: largest('scrollWidth'), height: largest('scrollHeight') };
})()`;
/** Images that are shown anywhere on the page, whether they arrive or fail. */
const IMAGES_THERE = `Promise.all([...document.images]
  .filter((image) => !image.complete && image.getClientRects().length > 0)
  .map((image) => new Promise((done) => { image.addEventListener('load', done); image.addEventListener('error', done); }))
  ).then(() => true)`;

async function showIn(page: Page, viewport: Viewport | null): Promise<void> {
  if (viewport !== null && !isSame(viewport, page.viewportSize())) await page.setViewportSize(viewport);
}

/**
 * A data URI. The page is left as it was, but for what scrolling has loaded.
 * @throws TroupeError SCRAPE_BODY_TOO_LARGE when no quality makes it fit into the stage's room
 */
export async function takeScreenshot(stage: Stage, spec: ScreenshotSpec): Promise<string> {
  const { page } = stage;
  const usual = page.viewportSize();
  const isResized = spec.viewport !== null && !isSame(spec.viewport, usual);
  if (isResized) await resize(stage, spec.viewport);
  try {
    return spec.fullPage ? await takeWhole(stage, spec) : await take(stage, spec, {});
  } finally {
    if (isResized) await resize(stage, usual);
  }
}

async function resize({ page }: Stage, viewport: Viewport | null): Promise<void> {
  await showIn(page, viewport);
  await within(page.evaluate(TWO_FRAMES), LAYOUT_LIMIT_MS);
}

async function takeWhole(stage: Stage, spec: ScreenshotSpec): Promise<string> {
  const { page } = stage;
  const position = await page.evaluate<{ left: number; top: number }>(POSITION);
  await loadLazyContent(stage);
  const size = await page.evaluate<Viewport>(SIZE);
  const width = Math.min(size.width, MAX_SIDE);
  const height = Math.min(size.height, MAX_SIDE, Math.floor(MAX_PIXELS / width));
  if (width < size.width || height < size.height) {
    stage.warnings.push(`The screenshot shows ${width} x ${height} px of a page of ${size.width} x ${size.height} px.`);
  }
  const uri = await take(stage, spec, { fullPage: true, clip: { x: 0, y: 0, width, height } });
  if (position.top > 0 || position.left > 0) await scrollTo(page, position);
  return uri;
}

/** Down to the end, step by step, and back to the top. */
async function loadLazyContent(stage: Stage): Promise<void> {
  const { page, signal } = stage;
  const endsAt = performance.now() + SCROLL_LIMIT_MS;
  let top = 0;
  for (let step = 0; step < MAX_SCROLL_STEPS && performance.now() < endsAt; step++) {
    const view = await page.evaluate<Viewport>(`({ width: innerWidth, height: innerHeight })`);
    const { height } = await page.evaluate<Viewport>(SIZE);
    top += Math.max(view.height, MAX_SIDE / MAX_SCROLL_STEPS);
    if (top >= Math.min(height, MAX_SIDE)) break;
    await scrollTo(page, { left: 0, top });
    await sleep(SCROLL_PAUSE_MS, undefined, { signal });
  }
  const hasScrolled = await page.evaluate<boolean>(`scrollY > 0`);
  if (hasScrolled) await stage.settle(LAZY_SETTLE_MS);
  await scrollTo(page, { left: 0, top: 0 });
  await within(page.evaluate(IMAGES_THERE), IMAGES_LIMIT_MS);
}

async function scrollTo(page: Page, { left, top }: { left: number; top: number }): Promise<void> {
  await page.evaluate(`window.scrollTo({ left: ${left}, top: ${top}, behavior: 'instant' })`);
}

interface Extent {
  fullPage?: boolean;
  clip?: { x: number; y: number; width: number; height: number };
}

async function take({ page, room, warnings }: Stage, { quality }: ScreenshotSpec, extent: Extent): Promise<string> {
  const asked = quality !== null && quality < 100 ? quality : null;
  const lighter = LIGHTER_QUALITIES.filter((value) => asked === null || value < asked);
  for (const value of [asked, ...lighter]) {
    const options = { ...extent, ...fileType(value), scale: 'css', animations: 'disabled', timeout: 0 } as const;
    const image = await page.screenshot(options);
    if (!room.takeFile(image.length)) continue;
    if (value !== asked) {
      warnings.push(`A screenshot is a JPEG of quality ${value ?? 100}: as it was asked for, it is too large.`);
    }
    return `data:image/${fileType(value).type};base64,${image.toString('base64')}`;
  }
  throw new TroupeError(
    'SCRAPE_BODY_TOO_LARGE',
    `the screenshot is too large: pictures and files of a page may have ${room.maxFileMb} MB in all`,
  );
}

function fileType(quality: number | null): { type: 'png' } | { type: 'jpeg'; quality: number } {
  return quality === null ? { type: 'png' } : { type: 'jpeg', quality };
}

function isSame(one: Viewport, other: Viewport | null): boolean {
  return one.width === other?.width && one.height === other.height;
}
