/**
 * Runs a caller's actions on a page before it is read, one after another and in order (docs/api/scrape.md, "Actions").
 */
import type { Action, ActionResults } from '@troupe/contracts';
import { setTimeout as sleep } from 'node:timers/promises';
import { CaptureRoom } from '../capture-room.js';
import { takeScreenshot } from '../screenshots.js';
import type { Stage } from '../stage.js';
import { actionError, ActionFailure, isGone, isTimeout } from './action-failure.js';
import { ActionEffects } from './action-effects.js';
import { allMatches, firstMatch, untilShown, type Handle } from './elements.js';
import { runScript } from './page-script.js';

const WAIT_LIMIT_MS = 15_000;
const CLICK_LIMIT_MS = 3_000;
const NEXT_CLICK_LIMIT_MS = 1_000;
const SETTLE_LIMIT_MS = 5_000;
/** They look at the page and leave it as it is. */
const LOOKS: readonly Action['type'][] = ['wait', 'screenshot', 'scrape', 'pdf'];

type Of<T extends Action['type']> = Extract<Action, { type: T }>;

/** @throws TroupeError SCRAPE_ACTION_ERROR naming the action; any error when the stage's time is up */
export async function runActions(stage: Stage, actions: readonly Action[]): Promise<ActionResults> {
  const run = new ActionRun(stage);
  let isTouched = false;
  for (const [index, action] of actions.entries()) {
    await run.perform(action).catch((error: unknown) => {
      throw actionError(index, action, error);
    });
    isTouched ||= !LOOKS.includes(action.type);
  }
  if (isTouched) await stage.settle(SETTLE_LIMIT_MS);
  return run.results;
}

class ActionRun {
  readonly results: ActionResults = { screenshots: [], scrapes: [], javascriptReturns: [], pdfs: [] };
  private readonly effects: ActionEffects;

  constructor(private readonly stage: Stage) {
    this.effects = new ActionEffects(stage);
  }

  async perform(action: Action): Promise<void> {
    await this.effects.arrive();
    await this.dispatch(action);
    if (!LOOKS.includes(action.type)) await this.effects.wait();
  }

  private async dispatch(action: Action): Promise<void> {
    switch (action.type) {
      case 'wait':
        return this.wait(action);
      case 'click':
        return action.all ? this.clickAll(action) : click(await firstMatch(this.stage, action.selector));
      case 'write':
        return this.write(action);
      case 'press':
        return this.stage.page.keyboard.press(action.key);
      case 'scroll':
        return this.scroll(action);
      case 'screenshot':
        return void this.results.screenshots.push(await takeScreenshot(this.stage, action));
      case 'scrape':
        return this.scrape(action);
      case 'executeJavascript':
        return void this.results.javascriptReturns.push(await runScript(this.stage, action.script));
      case 'pdf':
        return this.print(action);
    }
  }

  private async wait({ selector, ms }: Of<'wait'>): Promise<void> {
    if (selector !== null) await untilShown(this.stage, selector, WAIT_LIMIT_MS);
    if (ms > 0) await sleep(ms, undefined, { signal: this.stage.signal });
  }

  /** Elements that an earlier click has removed are passed over. */
  private async clickAll({ selector }: Of<'click'>): Promise<void> {
    for (const element of await allMatches(this.stage, selector)) {
      await clickNext(element).catch((error: unknown) => {
        if (!isGone(error)) throw error;
      });
    }
  }

  private async write({ text, selector }: Of<'write'>): Promise<void> {
    if (selector !== null) await focus(await firstMatch(this.stage, selector));
    await this.stage.page.keyboard.type(text);
  }

  private async scroll({ direction, selector }: Of<'scroll'>): Promise<void> {
    const sign = direction === 'down' ? 1 : -1;
    if (selector === null) return void (await this.stage.page.evaluate(scrollPage(sign)));
    const element = await firstMatch(this.stage, selector);
    await element.evaluate((box, way) => box.scrollBy({ top: way * box.clientHeight, behavior: 'instant' }), sign);
  }

  private async scrape({ selector }: Of<'scrape'>): Promise<void> {
    const html = selector === null ? await this.stage.html() : await outerHtml(await firstMatch(this.stage, selector));
    if (!this.stage.room.takeText(html.length)) {
      throw new ActionFailure(`scraped HTML may have ${CaptureRoom.maxTextMb} MB in all`);
    }
    this.results.scrapes.push({ url: this.stage.page.url(), html });
  }

  private async print({ format, landscape, scale }: Of<'pdf'>): Promise<void> {
    const file = await this.stage.page.pdf({ format, landscape, scale, printBackground: true });
    if (!this.stage.room.takeFile(file.length)) {
      throw new ActionFailure(
        `the PDF is too large: pictures and files of a page may have ${this.stage.room.maxFileMb} MB in all`,
      );
    }
    this.results.pdfs.push(`data:application/pdf;base64,${file.toString('base64')}`);
  }
}

/**
 * Clicks as a mouse would. An element that a mouse cannot reach, because it is hidden or covered, gets the event all
 * the same.
 */
async function click(element: Handle, limitMs = CLICK_LIMIT_MS): Promise<void> {
  try {
    await element.click({ timeout: limitMs });
  } catch (error) {
    if (!isTimeout(error)) throw error;
    if (!(await element.isEnabled())) throw new ActionFailure('the element is disabled');
    await element.dispatchEvent('click');
  }
}

/** Clicks one element of many. It is not waited for: many are not worth the time that a single one gets to appear. */
async function clickNext(element: Handle): Promise<void> {
  if (await element.isVisible()) await click(element, NEXT_CLICK_LIMIT_MS);
  else await element.dispatchEvent('click');
}

async function focus(element: Handle): Promise<void> {
  await element.focus();
  const isFocused = await element.evaluate((node) => node.getRootNode().activeElement === node);
  if (!isFocused) throw new ActionFailure('the element cannot be written into');
}

function outerHtml(element: Handle): Promise<string> {
  return element.evaluate((node) => node.outerHTML);
}

/** Scrolls the page or, when it does not scroll itself, the largest box in it that does. */
function scrollPage(sign: 1 | -1): string {
  return `(() => {
    const scrolls = (box) => box.scrollHeight > box.clientHeight + 1;
    const root = document.scrollingElement ?? document.documentElement;
    const boxes = scrolls(root) ? [] : [...document.querySelectorAll('body *')].filter(
      (box) => scrolls(box) && /auto|scroll/.test(getComputedStyle(box).overflowY));
    const area = (box) => box.clientWidth * box.clientHeight;
    const [box] = boxes.sort((a, b) => area(b) - area(a));
    if (box === undefined) window.scrollBy({ top: ${sign} * innerHeight, behavior: 'instant' });
    else box.scrollBy({ top: ${sign} * box.clientHeight, behavior: 'instant' });
  })()`;
}
